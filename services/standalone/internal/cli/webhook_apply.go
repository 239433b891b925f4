package cli

import "github.com/spf13/cobra"

func webhookApplyCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Create and change webhooks so that they are as a file describes them",
		Long: `Create and change webhooks so that they are as a YAML file describes them. Webhooks are recognized by name; fields that
the file does not name stay. Nothing is changed if the file or a template in it is invalid.

The file has a list "webhooks", whose items have the fields of the API, "preset" for those of a preset, and
"verification.secrets_file" and "verify_token_file", paths relative to the file. Secrets are sent for a new webhook, for
another scheme, and with --update-secrets.`,
		Example: `  orch webhook export > webhooks.yaml
  orch webhook apply -f webhooks.yaml --dry-run`,
		Args: cobra.NoArgs,
	}
	file := cmd.Flags().StringP("file", "f", "", "the file")
	_ = cmd.MarkFlagRequired("file")
	dryRun := cmd.Flags().Bool("dry-run", false, "show the changes only")
	prune := cmd.Flags().Bool("prune", false, "delete the webhooks that the file does not name")
	secrets := cmd.Flags().Bool("update-secrets", false, "send the secrets of existing webhooks too")
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := c.server()
		if err != nil {
			return err
		}
		wanted, err := (&webhookFile{cmd: cmd, path: *file, server: s}).read(cmd.Context())
		if err != nil {
			return err
		}
		changes, err := planWebhooks(cmd.Context(), s, wanted, *prune, *secrets)
		if err != nil {
			return err
		}
		return c.applyChanges(cmd, webhooksKey, changes, *dryRun, *yes, sendTo(s, webhooksKey))
	}
	return cmd
}
