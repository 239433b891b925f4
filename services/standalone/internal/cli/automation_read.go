package cli

import (
	"net/http"

	"github.com/spf13/cobra"
)

func automationListCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the automations",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.server()
			if err != nil {
				return err
			}
			all, err := list(cmd.Context(), s, s.InWorkspace("/automations/filter"))
			if err != nil {
				return err
			}
			return showAll(c, cmd, all, automationHead, automationRow)
		},
	}
}

func automationInspectCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect AUTOMATION",
		Short: "Show an automation with all fields",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, path, err := c.automationOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			answer, err := s.Call(cmd.Context(), http.MethodGet, path, nil)
			if err != nil {
				return err
			}
			return c.inspect(cmd, answer)
		},
	}
}
