package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// deliveryTrace is a delivery with its effects.
type deliveryTrace struct {
	Delivery json.RawMessage `json:"delivery"`
	// Events are the events of the delivery, and AutomationEvents the firings that they triggered with the outcomes of their actions.
	Events           []json.RawMessage `json:"events"`
	AutomationEvents []json.RawMessage `json:"automation_events"`
	// FlowRuns are the flow runs that the actions started, and Logs the last lines of the logs of these runs.
	FlowRuns []json.RawMessage `json:"flow_runs"`
	Logs     []json.RawMessage `json:"logs"`
}

// tracedLines is the number of log lines at the end of a trace.
const tracedLines = 20

// errNoDelivery means that the webhook has no delivery to trace.
var errNoDelivery = errors.New("the webhook has no delivery")

func webhookTraceCommand(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "trace WEBHOOK [DELIVERY]",
		Short: "Follow a delivery to its events, the automations that fired, their flow runs and the logs of the runs",
		Long: `Follow a delivery, by default the last one, to its events, the automations that fired, the flow runs that the automations started, and
the last lines of their logs.`,
		Example: `  orch webhook trace pushes
  orch webhook trace pushes 0198c1f2-6d1c-7d36-9a1b-5a0e8b1f3c22`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, path, err := c.webhookOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			t := deliveryTrace{Events: []json.RawMessage{}, AutomationEvents: []json.RawMessage{}, FlowRuns: []json.RawMessage{}, Logs: []json.RawMessage{}}
			if t.Delivery, err = tracedDelivery(cmd.Context(), s, path, args[1:]); err != nil {
				return fmt.Errorf("read the delivery: %w", err)
			}
			if err := t.follow(cmd.Context(), s); err != nil {
				return fmt.Errorf("follow the delivery: %w", err)
			}
			if c.output == outputJSON {
				text, err := json.Marshal(t)
				if err != nil {
					return fmt.Errorf("print the trace: %w", err)
				}
				return printJSON(cmd.OutOrStdout(), text)
			}
			return c.showTrace(cmd, t)
		},
	}
}

// tracedDelivery reads the delivery of an id, or the last one without an id.
func tracedDelivery(ctx context.Context, s *remote.Server, path string, id []string) (json.RawMessage, error) {
	if len(id) == 1 {
		return s.Call(ctx, http.MethodGet, path+"/deliveries/"+id[0], nil)
	}
	last, err := remote.Read[[]json.RawMessage](ctx, s, http.MethodPost, path+"/deliveries/filter", map[string]any{"limit": 1})
	if err == nil && len(last) == 0 {
		err = errNoDelivery
	}
	if err != nil {
		return nil, err
	}
	return last[0], nil
}

// follow reads the effects of the delivery.
func (t *deliveryTrace) follow(ctx context.Context, s *remote.Server) error {
	d, err := remote.Decode[struct {
		EventIDs []string `json:"event_ids"` // Empty for one event.
		EventID  *string  `json:"event_id"`
		Replayed *string  `json:"replayed_event_id"`
	}](t.Delivery)
	if err != nil {
		return err
	}
	ids := d.EventIDs
	if one := cmp.Or(d.EventID, d.Replayed); len(ids) == 0 && one != nil {
		ids = []string{*one}
	}
	if len(ids) == 0 {
		return nil
	}
	events := func(filter map[string]any) ([]json.RawMessage, error) {
		filter["order"] = "ASC"
		return readEvents(ctx, s, map[string]any{"filter": filter, "limit": maxEvents}, everyone)
	}
	if t.Events, err = events(map[string]any{"id": map[string]any{"id": ids}}); err != nil {
		return err
	}
	var resources []string
	for _, id := range ids {
		resources = append(resources, inEachVocabulary("event", id)...)
	}
	t.AutomationEvents, err = events(map[string]any{
		"any_resource": map[string]any{"id": resources}, "event": map[string]any{"prefix": inEachVocabulary("automation", "")},
	})
	if err != nil {
		return err
	}
	var runs []string
	for _, text := range t.AutomationEvents {
		e, err := remote.Decode[tracedEvent](text)
		if err != nil {
			return err
		}
		runs = append(runs, e.startedRuns()...)
	}
	slices.Sort(runs)
	runs = slices.Compact(runs)
	if len(runs) == 0 {
		return nil
	}
	t.FlowRuns, err = remote.Read[[]json.RawMessage](ctx, s, http.MethodPost, s.InWorkspace("/flow_runs/filter"), map[string]any{
		"flow_runs": map[string]any{"id": map[string]any{"any_": runs}}, "sort": "ID_DESC",
	})
	if err != nil {
		return err
	}
	t.Logs, err = remote.Read[[]json.RawMessage](ctx, s, http.MethodPost, s.InWorkspace("/logs/filter"), map[string]any{
		"logs": map[string]any{"flow_run_id": map[string]any{"any_": runs}}, "sort": "TIMESTAMP_DESC", "limit": tracedLines,
	})
	slices.Reverse(t.Logs)
	return err
}

// inEachVocabulary returns a name in both vocabularies: clients cannot read the vocabulary of the server.
func inEachVocabulary(kind, name string) []string {
	return []string{vocabulary.Orch.Name(kind, name), vocabulary.Prefect.Name(kind, name)}
}

// labelOf returns the label of a resource whose name ends with a text, in either vocabulary.
func labelOf(labels map[string]string, suffix string) string {
	for name, value := range labels {
		if strings.HasSuffix(name, suffix) {
			return value
		}
	}
	return ""
}

// tracedEvent is an event with its related resources.
type tracedEvent struct {
	eventSummary

	Related []map[string]string `json:"related"`
	Payload struct {
		Type   string `json:"action_type"`
		Reason string `json:"reason"`
	} `json:"payload"`
}

// startedRuns returns the ids of the flow runs that the event names.
func (e tracedEvent) startedRuns() []string {
	var ids []string
	for _, labels := range e.Related {
		if labelOf(labels, ".resource.role") != "flow-run" {
			continue
		}
		for _, prefix := range inEachVocabulary("flow-run", "") {
			if id, ok := strings.CutPrefix(labelOf(labels, ".resource.id"), prefix); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// step returns the kind, the name and the outcome of an event of an automation; no kind for the start of an action, whose outcome follows.
func (e tracedEvent) step() (kind, name, outcome string) {
	name = cmp.Or(labelOf(e.Resource, ".resource.name"), labelOf(e.Resource, ".resource.id"))
	_, verb, _ := strings.Cut(e.Event, ".automation.")
	verb, isAction := strings.CutPrefix(verb, "action.")
	switch {
	case !isAction:
		return "automation", name, verb
	case verb == "triggered":
		return "", "", ""
	case e.Payload.Reason != "":
		verb += ": " + e.Payload.Reason
	}
	return "action", e.Payload.Type, verb
}

// showTrace prints the steps of a trace in the order of cause and effect, and the log lines below them.
func (c *connection) showTrace(cmd *cobra.Command, t deliveryTrace) error {
	d, err := remote.Decode[delivery](t.Delivery)
	if err != nil {
		return err
	}
	rows := [][]string{{d.Received.Format(millisecondTime), "delivery", fmt.Sprintf("%s, %d", d.Method, d.Status), d.result(), d.ID}}
	for _, text := range t.Events {
		e, err := remote.Decode[eventSummary](text)
		if err != nil {
			return err
		}
		rows = append(rows, []string{e.Occurred.Format(millisecondTime), "event", e.Event, labelOf(e.Resource, ".resource.id"), e.ID})
	}
	for _, text := range t.AutomationEvents {
		e, err := remote.Decode[tracedEvent](text)
		if err != nil {
			return err
		}
		if kind, name, outcome := e.step(); kind != "" {
			rows = append(rows, []string{e.Occurred.Format(millisecondTime), kind, name, outcome, e.ID})
		}
	}
	for _, text := range t.FlowRuns {
		run, err := remote.Decode[struct {
			flowRunSummary

			Created time.Time `json:"created"`
		}](text)
		if err != nil {
			return err
		}
		rows = append(rows, []string{run.Created.Format(millisecondTime), "flow run", run.Name, run.State.name(), run.ID})
	}
	form := tableForm[[]string]{head: []string{"TIME", "STEP", "NAME", "OUTCOME", "ID"}, row: func(row []string) []string { return row }}
	if err := printTable(c, cmd, form, rows); err != nil {
		return err
	}
	if len(t.Logs) > 0 {
		c.say(cmd, "")
	}
	for _, text := range t.Logs {
		line, err := remote.Decode[logLine](text)
		if err != nil {
			return err
		}
		c.say(cmd, "%s", line.text(line.Message))
	}
	return nil
}
