package cli

import (
	"fmt"
	"maps"

	"github.com/spf13/cobra"
)

func automationExportCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "Print all automations as a YAML file for `orch automation apply`, with names in place of ids",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.server()
			if err != nil {
				return err
			}
			current, err := currentAutomations(cmd.Context(), s)
			if err != nil {
				return err
			}
			records := make([]map[string]any, len(current))
			for i, automation := range current {
				if err := idsToNames(cmd.Context(), s, automation.fields); err != nil {
					return fmt.Errorf("export automation %s: %w", automation.name, err)
				}
				if trigger, ok := automation.fields["trigger"].(map[string]any); ok {
					shortenTrigger(trigger)
				}
				if err := eachAction(automation.fields, func(action map[string]any) error {
					if action["source"] == "selected" {
						delete(action, "source") // The name of the target says so.
					}
					maps.DeleteFunc(action, isEmpty)
					return nil
				}); err != nil {
					return err
				}
				maps.DeleteFunc(automation.fields, isDefault)
				records[i] = automation.fields
			}
			return writeRecords(cmd.OutOrStdout(), automationsKey, "", automationFields, records)
		},
	}
}

// shortenTrigger removes the fields of a trigger without a value, and its id, which each server chooses.
func shortenTrigger(trigger map[string]any) {
	delete(trigger, "id")
	maps.DeleteFunc(trigger, isEmpty)
	children, _ := trigger["triggers"].([]any)
	for _, child := range children {
		if fields, ok := child.(map[string]any); ok {
			shortenTrigger(fields)
		}
	}
}

func isEmpty(_ string, value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
