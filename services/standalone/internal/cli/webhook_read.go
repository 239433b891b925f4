package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

func webhookListCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the webhooks",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.server()
			if err != nil {
				return err
			}
			all, err := list(cmd.Context(), s, s.InWorkspace("/webhooks/filter"))
			if err != nil {
				return err
			}
			return showAll(c, cmd, all, webhookHead, webhookRow)
		},
	}
}

func webhookInspectCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use: "inspect WEBHOOK", Aliases: []string{"get"},
		Short: "Show a webhook with its template",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, path, err := c.webhookOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			answer, err := s.Call(cmd.Context(), http.MethodGet, path, nil)
			if err != nil {
				return err
			}
			if err := show(c, cmd, answer, webhookHead, webhookRow); err != nil {
				return err
			}
			w, err := remote.Decode[webhookSummary](answer)
			if err != nil {
				return err
			}
			if w.Description != "" {
				c.say(cmd, "\n%s", w.Description)
			}
			c.say(cmd, "\n%s", w.Template)
			return nil
		},
	}
}
