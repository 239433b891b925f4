package cli

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// historySummary is what the command reads of an automation's history.
type historySummary struct {
	Firings []struct {
		Triggered string  `json:"triggered"`
		State     string  `json:"state"`
		Event     *string `json:"triggering_event_id"`
		Actions   []struct {
			Type    string  `json:"type"`
			Outcome string  `json:"outcome"`
			Reason  *string `json:"reason"`
			FlowRun *string `json:"flow_run_id"`
		} `json:"actions"`
	} `json:"firings"`
}

func automationHistoryCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history AUTOMATION",
		Short: "Show the last firings of an automation, with the outcomes of their actions",
		Args:  cobra.ExactArgs(1),
	}
	limit := cmd.Flags().Int("limit", 20, "the maximum number of firings, at most 200")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := c.automationOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		answer, err := s.Call(cmd.Context(), http.MethodGet, path+"/history?limit="+strconv.Itoa(*limit), nil)
		if err != nil {
			return err
		}
		return c.showHistory(cmd, answer)
	}
	return cmd
}

func (c *connection) showHistory(cmd *cobra.Command, answer json.RawMessage) error {
	if c.output == outputJSON {
		return printJSON(cmd.OutOrStdout(), answer)
	}
	history, err := remote.Decode[historySummary](answer)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, f := range history.Firings {
		event := ""
		if f.Event != nil {
			event = *f.Event
		}
		actions := make([]string, len(f.Actions))
		for i, a := range f.Actions {
			actions[i] = a.Type + " " + a.Outcome
			if a.FlowRun != nil {
				actions[i] += " (flow run " + *a.FlowRun + ")"
			}
			if a.Reason != nil {
				actions[i] += ": " + *a.Reason
			}
		}
		rows = append(rows, []string{f.Triggered, f.State, event, strings.Join(actions, "; ")})
	}
	return printTable(c, cmd, tableForm[[]string]{head: []string{"TRIGGERED", "STATE", "EVENT", "ACTIONS"}, row: func(row []string) []string { return row }}, rows)
}
