package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func workspaceGrantCommand(c *connection) *cobra.Command {
	var serviceAccount, role string
	cmd := &cobra.Command{
		Use:   "grant",
		Short: "Give a service account a role in the current workspace",
		Long: `Give a service account a role in the current workspace. Without a role its keys are refused there, by the API and by
webhooks that ask for them. A second grant replaces the role.`,
		Example: `  orch workspace grant --service-account ci --role Viewer`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if serviceAccount == "" || role == "" {
				return fmt.Errorf("%w: grant needs --service-account and --role", errArgument)
			}
			s, err := c.server()
			if err != nil {
				return err
			}
			in, err := account(cmd.Context(), s)
			if err != nil {
				return err
			}
			bot, err := find(cmd.Context(), s, "/accounts/"+in+"/bots", "service_accounts", serviceAccount)
			if err != nil {
				return fmt.Errorf("find the service account: %w", err)
			}
			roleID, err := find(cmd.Context(), s, "/accounts/"+in+"/workspace_roles", "workspace_roles", role)
			if err != nil {
				return fmt.Errorf("find the workspace role: %w", err)
			}
			_, err = s.Call(cmd.Context(), http.MethodPost, s.InWorkspace("/bot_access/"), map[string]any{"bot_id": bot, "workspace_role_id": roleID})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s has the role %s in this workspace.\n", serviceAccount, role)
			return err
		},
	}
	cmd.Flags().StringVar(&serviceAccount, "service-account", "", "the service account, by name or id")
	cmd.Flags().StringVar(&role, "role", "", "the workspace role, by name or id: Owner, Developer, Runner, Viewer, Worker or one of your own")
	return cmd
}
