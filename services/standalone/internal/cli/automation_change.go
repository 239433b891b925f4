package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func automationCreateCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "create -f FILE",
		Short:   "Create an automation from a YAML or JSON file",
		Example: `  orch automation create -f notify.yaml`,
		Long:    "Create an automation from a YAML or JSON file, as `orch automation apply` reads it.",
		Args:    cobra.NoArgs,
	}
	file := cmd.Flags().StringP("file", "f", "", "the file that holds the automation")
	_ = cmd.MarkFlagRequired("file")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := c.server()
		if err != nil {
			return err
		}
		automation, err := readAutomation(cmd.Context(), s, *file)
		if err != nil {
			return err
		}
		answer, err := s.Call(cmd.Context(), http.MethodPost, s.InWorkspace("/automations/"), automation)
		if err != nil {
			return err
		}
		return show(c, cmd, answer, automationHead, automationRow)
	}
	return cmd
}

func automationDisableCommand(c *connection) *cobra.Command {
	return automationSwitchCommand(c, "disable", "pause", "Disable an automation: it is not evaluated, and its windows stay", false)
}

func automationEnableCommand(c *connection) *cobra.Command {
	return automationSwitchCommand(c, "enable", "resume", "Enable an automation again", true)
}

func automationSwitchCommand(c *connection, verb, alias, short string, enabled bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " AUTOMATION", Aliases: []string{alias},
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, path, err := c.automationOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if _, err := s.Call(cmd.Context(), http.MethodPatch, path, map[string]any{"enabled": enabled}); err != nil {
				return err
			}
			answer, err := s.Call(cmd.Context(), http.MethodGet, path, nil)
			if err != nil {
				return err
			}
			return show(c, cmd, answer, automationHead, automationRow)
		},
	}
}

func automationDeleteCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete AUTOMATION",
		Short: "Delete an automation with what it has counted",
		Args:  cobra.ExactArgs(1),
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := c.automationOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return c.remove(cmd, s, path, *yes, fmt.Sprintf("Delete the automation %q?", args[0]), fmt.Sprintf("Deleted the automation %q.", args[0]))
	}
	return cmd
}
