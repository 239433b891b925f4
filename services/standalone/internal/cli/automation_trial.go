package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// evaluationSummary is what the command reads of an evaluation.
type evaluationSummary struct {
	Firings []struct {
		Triggered string            `json:"triggered"`
		State     string            `json:"state"`
		Reason    string            `json:"reason"`
		Event     *string           `json:"event"`
		Resource  *string           `json:"resource_id"`
		Labels    map[string]string `json:"labels"`
	} `json:"firings"`
	Events    int64   `json:"events"`
	Matched   int64   `json:"matched"`
	Until     string  `json:"evaluated_until"`
	StoppedBy *string `json:"stopped_by"`
}

func automationTestCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test [AUTOMATION]",
		Short: "Show the firings that an automation would have had",
		Long: `Show the firings that an automation would have had over the stored events of a time range that ends now. The automation
is one of the server, or that of a file. Nothing is executed.`,
		Example: `  orch automation test -f notify.yaml --since 7d
  orch automation test "ship on push" --since 24h`,
		Args: cobra.MaximumNArgs(1),
	}
	file := cmd.Flags().StringP("file", "f", "", "the file that holds the automation")
	since := cmd.Flags().String("since", "24h", "the time range, such as 30m, 24h or 7d")
	limit := cmd.Flags().Int("limit", 200, "the maximum number of firings, at most 1,000")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if (len(args) == 1) == (*file != "") {
			return fmt.Errorf("%w: either an automation or --file is required", errArgument)
		}
		span, err := parseSpan(*since)
		if err != nil {
			return err
		}
		s, query, err := c.trialOf(cmd.Context(), args, *file)
		if err != nil {
			return err
		}
		query["since"], query["limit"] = time.Now().UTC().Add(-span), *limit
		answer, err := s.Call(cmd.Context(), http.MethodPost, s.InWorkspace("/automations/evaluate"), query)
		if err != nil {
			return err
		}
		return c.showEvaluation(cmd, answer)
	}
	return cmd
}

func (c *connection) showEvaluation(cmd *cobra.Command, answer json.RawMessage) error {
	if c.output == outputJSON {
		return printJSON(cmd.OutOrStdout(), answer)
	}
	result, err := remote.Decode[evaluationSummary](answer)
	if err != nil {
		return err
	}
	rows := make([][]string, 0, len(result.Firings))
	for _, f := range result.Firings {
		var event []string
		for _, text := range []*string{f.Event, f.Resource} {
			if text != nil {
				event = append(event, *text)
			}
		}
		rows = append(rows, []string{f.Triggered, f.State, strings.Join(event, " "), f.Reason})
	}
	err = printTable(c, cmd, tableForm[[]string]{head: []string{"TRIGGERED", "STATE", "EVENT", "REASON"}, row: func(row []string) []string { return row }}, rows)
	if err != nil {
		return err
	}
	c.say(cmd, "%d firings; %d of %d events matched.", len(result.Firings), result.Matched, result.Events)
	if result.StoppedBy != nil {
		c.say(cmd, "The evaluation ended at %s: it reached the bound %q.", result.Until, *result.StoppedBy)
	}
	return nil
}
