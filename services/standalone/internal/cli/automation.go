package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// automationSummary is what the commands read of an automation; with --output json the whole record is printed.
type automationSummary struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
	Trigger     struct {
		Type string `json:"type"`
	} `json:"trigger"`
	Actions []struct {
		Type string `json:"type"`
	} `json:"actions"`
}

var automationHead = []string{"ID", "NAME", "ENABLED", "TRIGGER", "ACTIONS"}

func automationRow(a automationSummary) []string {
	actions := make([]string, len(a.Actions))
	for i, action := range a.Actions {
		actions[i] = action.Type
	}
	return []string{a.ID, a.Name, strconv.FormatBool(a.Enabled), a.Trigger.Type, strings.Join(actions, ", ")}
}

func automationCommand(version string) *cobra.Command {
	return remoteCommand(version, &cobra.Command{
		Use: "automation", Aliases: []string{"automations"}, Short: "Manage automations, and evaluate them without effects",
		Long: `Manage automations, and evaluate them without effects. An automation is named by its id or by its name.`,
	},
		automationListCommand, automationInspectCommand, automationCreateCommand, automationApplyCommand, automationExportCommand, automationDisableCommand,
		automationEnableCommand, automationUpdateCommand, automationDeleteCommand, automationTestCommand, automationPreviewCommand, automationHistoryCommand, automationDeliveriesCommand, automationSimulateCommand)
}

// automationOf returns the server and the path of the automation that an argument means.
func (c *connection) automationOf(ctx context.Context, argument string) (*remote.Server, string, error) {
	s, err := c.server()
	if err != nil {
		return nil, "", err
	}
	id, err := find(ctx, s, s.InWorkspace("/automations"), "automations", argument)
	if err != nil {
		return nil, "", fmt.Errorf("find the automation: %w", err)
	}
	return s, s.InWorkspace("/automations/" + id), nil
}

func automationSimulateCommand(*connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate --stdio",
		Short: "Evaluate triggers over given events and times, without a server",
		Long: `Evaluate triggers over given events and times, without a server and without effects.

With --stdio the command reads one JSON object a line and writes one for each, in the same order.

  {"automation": {...}, "steps": [{"at": "2026-03-01T12:00:00Z", "event": {...}}, {"at": "...", "tick": true}, ...]}
      evaluates the automation's triggers. A step is an event (optional "received"), a tick (the clock is looked at),
      "enabled": true or false, "update": {...}, "delete": true, or "restart": true. The output is
      {"firings": [{"at_step", "trigger", "state", "event", "labels", "count", "window", "firings"}]}, all firings in the
      order in which they happen. "trigger" is root, or root.0.1 for a child; "event" is the id of the reason or null;
      "labels" are the for_each pairs; "count" and "window" are those of an event trigger; "firings" are the child
      firings ({"trigger", "event"}) that a compound trigger or a sequence used.

  {"match": {...}, "match_related": {...}, "expect": [...], "after": [...], "event": {...}}
      tells whether an event trigger takes the event. The output is {"matches": true} or {"matches": false}.

Input that cannot be evaluated gives {"error": "..."}.`,
		Args: cobra.NoArgs,
	}
	stdio := cmd.Flags().Bool("stdio", false, "read and write one JSON object a line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*stdio {
			return fmt.Errorf("%w: --stdio is needed", errArgument)
		}
		return orchestration.SimulateAutomations(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
	}
	return cmd
}
