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

// callSummary is what the command reads of a call of a webhook.
type callSummary struct {
	ID          string          `json:"id"`
	Attempted   time.Time       `json:"attempted"`
	Attempt     int             `json:"attempt"`
	MessageID   string          `json:"message_id"`
	Method      string          `json:"method"`
	Destination string          `json:"destination"`
	Headers     json.RawMessage `json:"headers"`
	Body        string          `json:"body"`
	Status      *int            `json:"status"`
	Latency     float64         `json:"latency"`
	Response    string          `json:"response_body"`
	Error       *string         `json:"error"`
}

var callHead = []string{"ID", "ATTEMPTED", "ATTEMPT", "STATUS", "LATENCY", "DESTINATION", "RESULT"}

func callRow(d callSummary) []string {
	status, result := "", "delivered"
	if d.Status != nil {
		status = strconv.Itoa(*d.Status)
	}
	if d.Error != nil {
		result = *d.Error
	}
	return []string{
		d.ID, d.Attempted.Format("2006-01-02T15:04:05.000Z07:00"), strconv.Itoa(d.Attempt), status,
		time.Duration(d.Latency * float64(time.Second)).Round(10 * time.Microsecond).String(), d.Method + " " + d.Destination, result,
	}
}

func automationDeliveriesCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "deliveries AUTOMATION [DELIVERY]",
		Short:   "Show the calls of webhooks that an automation made, or one of them with its request and response",
		Example: `  orch automation deliveries notify --failed`,
		Args:    cobra.RangeArgs(1, 2),
	}
	failed := cmd.Flags().Bool("failed", false, "attempts that failed")
	limit := cmd.Flags().Int("limit", 20, "the maximum number of attempts, at most 200")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, path, err := c.automationOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		path += "/deliveries/"
		if len(args) == 2 {
			answer, err := s.Call(cmd.Context(), http.MethodGet, path+url.PathEscape(args[1]), nil)
			if err != nil {
				return err
			}
			return c.showCall(cmd, answer)
		}
		query := map[string]any{"limit": *limit}
		if *failed {
			query["automation_deliveries"] = map[string]any{"delivered": map[string]any{"eq_": false}}
		}
		answer, err := s.Call(cmd.Context(), http.MethodPost, path+"filter", query)
		if err != nil {
			return err
		}
		return show(c, cmd, answer, callHead, callRow)
	}
	return cmd
}

// showCall shows a call with its request and its response.
func (c *connection) showCall(cmd *cobra.Command, answer json.RawMessage) error {
	if err := show(c, cmd, answer, callHead, callRow); err != nil || c.output == outputJSON {
		return err
	}
	d, err := remote.Decode[callSummary](answer)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	c.say(cmd, "\n%s %s (%s)", d.Method, printable(d.Destination), printable(d.MessageID))
	if err := printJSON(out, d.Headers); err != nil {
		return err
	}
	c.say(cmd, "\n%s", printable(d.Body))
	if d.Status != nil {
		c.say(cmd, "\nThe receiver responded with status %d:\n%s", *d.Status, printable(d.Response))
	}
	if d.Error != nil {
		_, err = fmt.Fprintln(out, colored(out, red, printable(*d.Error)))
	}
	return err
}
