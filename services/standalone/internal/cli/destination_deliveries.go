package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// destinationDelivery is what the command reads of a delivery to a destination.
type destinationDelivery struct {
	ID          string            `json:"id"`
	Event       string            `json:"event"`
	Queued      time.Time         `json:"queued"`
	State       string            `json:"state"`
	Attempts    int               `json:"attempts"`
	NextAttempt *time.Time        `json:"next_attempt"`
	Error       *string           `json:"error"`
	Method      string            `json:"method"`
	Address     string            `json:"address"`
	Headers     map[string]string `json:"headers"`
	Body        string            `json:"body"`
	Log         []struct {
		Attempted time.Time `json:"attempted"`
		Latency   float64   `json:"latency"`
		Status    *int      `json:"status"`
		Error     *string   `json:"error"`
		Response  string    `json:"response_body"`
	} `json:"log"`
}

var destinationDeliveryHead = []string{"ID", "QUEUED", "EVENT", "STATE", "ATTEMPTS", "NEXT ATTEMPT", "ERROR"}

func destinationDeliveryRow(d destinationDelivery) []string {
	next, failure := "", ""
	if d.NextAttempt != nil {
		next = d.NextAttempt.Format(time.RFC3339)
	}
	if d.Error != nil {
		failure = *d.Error
	}
	return []string{d.ID, d.Queued.Format(time.RFC3339), d.Event, d.State, strconv.Itoa(d.Attempts), next, failure}
}

func destinationDeliveriesCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "deliveries DESTINATION [DELIVERY]",
		Short:   "Show the deliveries of a destination, or one of them with its attempts",
		Example: `  orch destination deliveries warehouse --state failed`,
		Args:    cobra.RangeArgs(1, 2),
	}
	filter := destinationFilter{}
	filter.register(cmd)
	limit := cmd.Flags().Int("limit", 20, "the maximum number of deliveries, at most 200")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := destinationResource.locate(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		return c.showDestinationDeliveries(cmd, s, path, args[1:], &filter, *limit)
	}
	return cmd
}

// showDestinationDeliveries shows the deliveries of a destination or an automation that a filter selects, or the named one with its attempts.
func (c *connection) showDestinationDeliveries(cmd *cobra.Command, s *remote.Server, path string, named []string, filter *destinationFilter, limit int) error {
	if len(named) > 0 {
		answer, err := s.Call(cmd.Context(), http.MethodGet, path+"/deliveries/"+url.PathEscape(named[0]), nil)
		if err != nil {
			return err
		}
		return c.showDestinationDelivery(cmd, answer)
	}
	answer, err := s.Call(cmd.Context(), http.MethodPost, path+"/deliveries/filter", map[string]any{
		"limit": limit, "destination_deliveries": filter.criteria(),
	})
	if err != nil {
		return err
	}
	return show(c, cmd, answer, destinationDeliveryHead, destinationDeliveryRow)
}

// destinationFilter are the flags that select deliveries.
type destinationFilter struct {
	states, events, ids []string
	failed              bool
}

func (f *destinationFilter) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.states, "state", nil, "deliveries in a state: pending, delivered or failed")
	cmd.Flags().StringSliceVar(&f.events, "event", nil, "deliveries of events with a name")
	cmd.Flags().BoolVar(&f.failed, "failed", false, "deliveries that failed; short for --state failed")
}

func (f *destinationFilter) criteria() map[string]any {
	states := f.states
	if f.failed {
		states = append(states, "failed")
	}
	criteria := map[string]any{}
	for field, values := range map[string][]string{"state": states, "event": f.events, "id": f.ids} {
		if len(values) > 0 {
			criteria[field] = map[string]any{"any_": values}
		}
	}
	return criteria
}

// showDestinationDelivery shows a delivery with its request and its attempts.
func (c *connection) showDestinationDelivery(cmd *cobra.Command, answer json.RawMessage) error {
	if err := show(c, cmd, answer, destinationDeliveryHead, destinationDeliveryRow); err != nil || c.output == outputJSON {
		return err
	}
	d, err := remote.Decode[destinationDelivery](answer)
	if err != nil {
		return err
	}
	c.say(cmd, "\n%s %s", d.Method, printable(d.Address))
	headers, err := json.Marshal(d.Headers)
	if err != nil {
		return fmt.Errorf("show the headers of a delivery: %w", err)
	}
	if err := printJSON(cmd.OutOrStdout(), headers); err != nil {
		return err
	}
	c.say(cmd, "\n%s", printable(d.Body))
	for _, attempt := range d.Log {
		result := ""
		if attempt.Status != nil {
			result = "status " + strconv.Itoa(*attempt.Status)
		}
		if attempt.Error != nil {
			result = *attempt.Error
		}
		took := time.Duration(attempt.Latency * float64(time.Second)).Round(time.Millisecond)
		c.say(cmd, "\n%s, %s: %s\n%s", attempt.Attempted.Format(time.RFC3339), took, printable(result), printable(attempt.Response))
	}
	return nil
}

func destinationResendCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resend DESTINATION [DELIVERY...]",
		Short: "Send deliveries again: those that are named, those that flags select, or all that failed",
		Long: `Send deliveries again: those that are named, those that flags select, or all that failed. A delivery keeps its id, by which the
receiver recognizes a duplicate.`,
		Example: `  orch destination resend warehouse
  orch destination resend warehouse --event order.paid --state delivered`,
		Args: cobra.MinimumNArgs(1),
	}
	filter := destinationFilter{}
	filter.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := destinationResource.locate(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		filter.ids = args[1:]
		body := map[string]any{}
		if criteria := filter.criteria(); len(criteria) > 0 {
			body["destination_deliveries"] = criteria
		}
		answer, err := s.Call(cmd.Context(), http.MethodPost, path+"/deliveries/resend", body)
		if err != nil {
			return err
		}
		return show(c, cmd, answer, []string{"RESENT"}, func(r struct {
			Resent int64 `json:"resent"`
		},
		) []string {
			return []string{strconv.FormatInt(r.Resent, 10)}
		})
	}
	return cmd
}
