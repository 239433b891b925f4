package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/jinja/stdio"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook"
)

func templateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "template",
		Short: "Render templates without a server",
	}
	cmd.AddCommand(templateRenderCommand())
	return cmd
}

func templateRenderCommand() *cobra.Command {
	var flags struct {
		template, context, vocabulary string
		stdio                         bool
	}
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Render a template as a webhook would",
		Long: `Render a template as a webhook would, with the variables of a JSON file.

With --stdio one JSON object a line is read, {"id", "template", "context"}, and one is written for each, {"output"} or
{"error", "message", "line"}; the error is syntax, undefined, runtime or budget.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			vocab, err := vocabulary.Parse(flags.vocabulary)
			if err != nil {
				return fmt.Errorf("%w: --vocabulary: %w", errArgument, err)
			}
			engine := webhook.NewEngine(webhook.Options{Vocabulary: vocab})
			if flags.stdio {
				return stdio.Run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), engine)
			}
			if flags.template == "" {
				return fmt.Errorf("%w: --template or --stdio is needed", errArgument)
			}
			source, err := os.ReadFile(flags.template)
			if err != nil {
				return fmt.Errorf("read the template: %w", err)
			}
			var variables []byte
			if flags.context != "" {
				if variables, err = os.ReadFile(flags.context); err != nil {
					return fmt.Errorf("read the context: %w", err)
				}
			}
			vars, err := stdio.DecodeContext(variables)
			if err != nil {
				return err
			}
			program, err := engine.Compile(string(source))
			if err != nil {
				return fmt.Errorf("%w: %w", errTemplate, err)
			}
			text, err := program.Render(cmd.Context(), vars)
			if err != nil {
				return fmt.Errorf("%w: %w", errTemplate, err)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().StringVar(&flags.template, "template", "", "the template's file")
	cmd.Flags().StringVar(&flags.context, "context", "", "a JSON file with the variables: method, headers, body")
	cmd.Flags().StringVar(&flags.vocabulary, "vocabulary", "", "the server's vocabulary: orch or prefect")
	cmd.Flags().BoolVar(&flags.stdio, "stdio", false, "read and write one JSON object a line")
	return cmd
}

// errTemplate is the prefix of template errors, which end with the line.
var errTemplate = errors.New("template cannot be rendered")
