package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/vocabulary"
)

func openapiCommand() *cobra.Command {
	var vocab string
	var core bool
	cmd := &cobra.Command{
		Use:   "openapi",
		Short: "Print the OpenAPI document of the API",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := vocabulary.Parse(vocab)
			if err != nil {
				return fmt.Errorf("%w: --vocabulary: %w", errArgument, err)
			}
			describe := openapi.API
			if core {
				describe = openapi.Core
			}
			document, err := describe(v)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(document)
			return err
		},
	}
	cmd.Flags().StringVar(&vocab, "vocabulary", "", "the server's vocabulary: orch, or prefect for existing clients")
	cmd.Flags().BoolVar(&core, "core", false, "only the 40 operations that most programs use, with short names")
	return cmd
}
