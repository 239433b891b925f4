package cli

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

func automationUpdateCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "update AUTOMATION -f FILE",
		Short:   "Change an automation; fields that the file does not name stay the same",
		Long:    "Change an automation to what a YAML or JSON file says, as `orch automation apply` reads it. Another name in the file renames it.",
		Example: `  orch automation update notify -f notify.yaml`,
		Args:    cobra.ExactArgs(1),
	}
	file := cmd.Flags().StringP("file", "f", "", "the file that holds the automation")
	_ = cmd.MarkFlagRequired("file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := c.automationOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		wanted, err := readAutomation(cmd.Context(), s, *file)
		if err != nil {
			return err
		}
		whole, err := remote.Read[map[string]any](cmd.Context(), s, http.MethodGet, path, nil)
		if err != nil {
			return err
		}
		maps.DeleteFunc(whole, func(key string, _ any) bool { return !slices.Contains(automationFields, key) })
		maps.Copy(whole, wanted)
		if _, err := s.Call(cmd.Context(), http.MethodPut, path, whole); err != nil {
			return fmt.Errorf("change the automation: %w", err)
		}
		answer, err := s.Call(cmd.Context(), http.MethodGet, path, nil)
		if err != nil {
			return err
		}
		return show(c, cmd, answer, automationHead, automationRow)
	}
	return cmd
}
