package cli

import (
	"fmt"
	"path"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// botAccess is the role of a service account in a workspace.
type botAccess struct {
	ID    string `json:"id"`
	BotID string `json:"bot_id"`
}

func workspaceRevokeCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke",
		Short: "Revoke the role of a service account in the current workspace",
		Long: `Revoke the role of a service account in the current workspace. The API and the webhooks of the workspace then refuse its
keys.`,
		Example: `  orch workspace revoke --service-account ci`,
		Args:    cobra.NoArgs,
	}
	yes := yesFlag(cmd)
	name := cmd.Flags().String("service-account", "", "the service account, by name or id")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *name == "" {
			return fmt.Errorf("%w: revoke needs --service-account", errArgument)
		}
		s, bot, err := c.botOf(cmd.Context(), *name)
		if err != nil {
			return err
		}
		roles, err := list(cmd.Context(), s, s.InWorkspace("/workspace_access/filter"))
		if err != nil {
			return err
		}
		for _, text := range roles {
			role, err := remote.Decode[botAccess](text)
			if err != nil {
				return err
			}
			if role.BotID == path.Base(bot) {
				return c.remove(cmd, s, s.InWorkspace("/bot_access/"+role.ID), *yes,
					"Revoke the role of "+*name+" in this workspace?", *name+" has no role in this workspace any more.")
			}
		}
		return fmt.Errorf("%s has no role in this workspace", *name)
	}
	return cmd
}
