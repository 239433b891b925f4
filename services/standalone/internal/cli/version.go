package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/vocabulary"
)

func versionCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the server and of its API",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "orch %s (API %s, %s, %s/%s)\n",
				version, vocabulary.APIVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
