package cli

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
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

func webhookGetCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "get WEBHOOK",
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
			var w webhookSummary
			if err := json.Unmarshal(answer, &w); err != nil {
				return fmt.Errorf("read the server's answer: %w", err)
			}
			if w.Description != "" {
				c.say(cmd, "\n%s", w.Description)
			}
			c.say(cmd, "\n%s", w.Template)
			return nil
		},
	}
}
