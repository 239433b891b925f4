package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// delivery is what tables show of one.
type delivery struct {
	ID        string    `json:"id"`
	Received  time.Time `json:"received"`
	Status    int       `json:"status"`
	Latency   float64   `json:"latency"`
	Size      int       `json:"size"`
	Error     *string   `json:"error"`
	ErrorLine *int      `json:"error_line"`

	ErrorColumn *int    `json:"error_column"`
	Reason      *string `json:"reason"`
	Count       int64   `json:"count"`

	Event     *string  `json:"event"`
	EventIDs  []string `json:"event_ids"`
	Duplicate bool     `json:"duplicate"`
	Handshake *string  `json:"handshake"`
	Method    string   `json:"method"`

	Response *renderedResponse `json:"response"`
}

var deliveryHead = []string{"ID", "RECEIVED", "STATUS", "LATENCY", "BYTES", "METHOD", "RESULT"}

func deliveryRow(d delivery) []string {
	return []string{
		d.ID, d.Received.Format(millisecondTime), strconv.Itoa(d.Status),
		time.Duration(d.Latency * float64(time.Second)).Round(10 * time.Microsecond).String(), strconv.Itoa(d.Size), d.Method, d.result(),
	}
}

// result is the outcome in a line, with the number of requests that the entry stands for.
func (d delivery) result() string {
	if d.Count > 1 {
		return strings.TrimSpace(fmt.Sprintf("%s (stands for %d requests)", d.outcome(), d.Count))
	}
	return d.outcome()
}

// outcome returns the error, the events, or another end of one request.
func (d delivery) outcome() string {
	switch {
	case d.Error != nil:
		return placed(*d.Error, d.ErrorLine, d.ErrorColumn)
	case d.Handshake != nil:
		return "handshake of " + *d.Handshake
	case d.Duplicate:
		return "duplicate"
	case len(d.EventIDs) > 1:
		return fmt.Sprintf("%s and %d more", *d.Event, len(d.EventIDs)-1)
	case d.Event != nil:
		return *d.Event
	case d.filtered():
		return deliverylog.ReasonFiltered
	default:
		return ""
	}
}

// filtered reports whether the filter dropped it.
func (d delivery) filtered() bool { return d.Reason != nil && *d.Reason == deliverylog.ReasonFiltered }

// deliveryFilter is how the commands about deliveries choose among them.
type deliveryFilter struct {
	failed           bool
	since            time.Duration
	limit            int
	status           string
	reasons, senders []string
}

func newDeliveryFilter(cmd *cobra.Command) *deliveryFilter {
	f := &deliveryFilter{}
	flags := cmd.Flags()
	flags.BoolVar(&f.failed, "failed", false, "deliveries that were refused or failed")
	spanVar(flags, &f.since, "since", 0, "deliveries of a span of time that ends now, such as 1h")
	flags.StringVar(&f.status, "status", "", "deliveries with an HTTP status or a range of them, such as 401 or 400-499")
	flags.StringSliceVar(&f.reasons, "reason", nil, "deliveries that ended for a reason: "+strings.Join(deliverylog.Reasons(), ", "))
	flags.StringSliceVar(&f.senders, "from", nil, "deliveries of an address of a sender; several may be given")
	cmd.MarkFlagsMutuallyExclusive("failed", "status")
	_ = cmd.RegisterFlagCompletionFunc("reason", cobra.FixedCompletions(deliverylog.Reasons(), cobra.ShellCompDirectiveNoFileComp))
	return f
}

// newLimitedDeliveryFilter adds --limit.
func newLimitedDeliveryFilter(cmd *cobra.Command, limit int) *deliveryFilter {
	f := newDeliveryFilter(cmd)
	cmd.Flags().IntVar(&f.limit, "limit", limit, "the maximum number of deliveries, at most 200")
	return f
}

// criteria returns the filter on deliveries in the form of the API.
func (f *deliveryFilter) criteria() (map[string]any, error) {
	filter := map[string]any{}
	if f.failed {
		filter["status"] = map[string]any{"ge_": http.StatusBadRequest}
	}
	if f.status != "" {
		low, high, isRange := strings.Cut(f.status, "-")
		if !isRange {
			high = low
		}
		from, err := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err != nil || err2 != nil || from > to {
			return nil, fmt.Errorf("%w: --status is like 401 or 400-499, not %q", errArgument, f.status)
		}
		filter["status"] = map[string]any{"ge_": from, "le_": to}
	}
	for _, reason := range f.reasons {
		if !slices.Contains(deliverylog.Reasons(), reason) {
			return nil, fmt.Errorf("%w: unknown reason %q; the reasons are %s", errArgument, reason, strings.Join(deliverylog.Reasons(), ", "))
		}
	}
	if len(f.reasons) > 0 {
		filter["reason"] = map[string]any{"any_": f.reasons}
	}
	if len(f.senders) > 0 {
		filter["remote_address"] = map[string]any{"any_": f.senders}
	}
	if f.since > 0 {
		filter["received"] = map[string]any{"after_": time.Now().UTC().Add(-f.since)}
	}
	return filter, nil
}

func webhookDeliveriesCommand(c *connection) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "deliveries WEBHOOK [DELIVERY]",
		Short: "Show what a webhook received last, or one delivery with its request",
		Example: `  orch webhook deliveries pushes --reason signature --since 1h
  orch webhook deliveries pushes --search ada@example.com --since 24h
  orch webhook deliveries pushes --failed --follow`,
		Args: cobra.RangeArgs(1, 2),
	}
	filter := newLimitedDeliveryFilter(cmd, 20)
	text := searchFlag(cmd)
	follow := cmd.Flags().BoolP("follow", "f", false, "show new deliveries as they arrive, until interrupted")
	cmd.MarkFlagsMutuallyExclusive("search", "follow")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		criteria, err := filter.criteria()
		if err != nil {
			return err
		}
		s, path, err := c.webhookOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if *follow {
			return c.tail(cmd, s, path, criteria, tailInterval)
		}
		if len(args) == 2 {
			answer, err := s.Call(cmd.Context(), http.MethodGet, path+"/deliveries/"+args[1], nil)
			if err != nil {
				return err
			}
			w, err := remote.Read[webhookSummary](cmd.Context(), s, http.MethodGet, path, nil)
			if err != nil {
				return err
			}
			return c.showDelivery(cmd, answer, w)
		}
		if *text != "" {
			found, err := searchDeliveries(cmd.Context(), s, path, criteria, *text, filter.limit)
			if err != nil {
				return err
			}
			return showAll(c, cmd, found, deliveryHead, deliveryRow)
		}
		answer, err := s.Call(cmd.Context(), http.MethodPost, path+"/deliveries/filter", map[string]any{"deliveries": criteria, "limit": filter.limit})
		if err != nil {
			return err
		}
		return show(c, cmd, answer, deliveryHead, deliveryRow)
	}
	return cmd
}

// request is what was delivered, and what the template rendered of it.
type request struct {
	Method   string          `json:"method"`
	Path     string          `json:"path"`
	Query    string          `json:"query"`
	Headers  json.RawMessage `json:"headers"`
	Body     string          `json:"body"`
	Rendered *string         `json:"rendered"`
}

// showDelivery shows a delivery with its request and what the template rendered.
func (c *connection) showDelivery(cmd *cobra.Command, answer json.RawMessage, w webhookSummary) error {
	if err := show(c, cmd, answer, deliveryHead, deliveryRow); err != nil || c.output == outputJSON {
		return err
	}
	d, err := remote.Decode[request](answer)
	if err != nil {
		return err
	}
	target := "/" + d.Path
	if d.Query != "" {
		target += "?" + d.Query
	}
	c.say(cmd, "\n%s %s", d.Method, cell(target, cmd.OutOrStdout()))
	if len(d.Headers) > 0 {
		if err := printJSON(cmd.OutOrStdout(), d.Headers); err != nil {
			return err
		}
	}
	c.say(cmd, "\n%s", printable(d.Body))
	if d.Rendered != nil {
		c.say(cmd, "\nThe template rendered:\n%s", printable(*d.Rendered))
	}
	log, err := remote.Decode[delivery](answer)
	if err != nil {
		return err
	}
	c.sayResponse(cmd, log.Response)
	c.explain(cmd, log, d.Rendered, w)
	return nil
}

// signatureCheck is the check that a request has passed.
func (w webhookSummary) signatureCheck() string {
	var v struct {
		Scheme string `json:"scheme"`
	}
	if !w.verified() || json.Unmarshal(w.Verification, &v) != nil {
		return "not verified"
	}
	return "valid, " + v.Scheme
}

// filterCheck is the check of the filter that a request has passed.
func (w webhookSummary) filterCheck() string {
	if w.Filter == nil {
		return "none"
	}
	return "matched"
}

// sourceOf is the text in which an error of a reason has its position.
func (w webhookSummary) sourceOf(reason string, rendered *string) string {
	switch {
	case reason == deliverylog.ReasonEvent && rendered != nil:
		return *rendered
	case (reason == deliverylog.ReasonFilter || reason == deliverylog.ReasonFiltered) && w.Filter != nil:
		return *w.Filter
	}
	return w.Template
}

// explain shows which step of the processing ended a delivery, and where.
func (c *connection) explain(cmd *cobra.Command, d delivery, rendered *string, w webhookSummary) {
	c.say(cmd, "")
	failed := ""
	if d.Reason != nil {
		failed = *d.Reason
	}
	steps := []struct{ name, reasons, what string }{
		{"webhook", "unavailable", "definition and secrets loaded"},
		{"address and rate", "address rate", "allowed"},
		{"method", "method", "accepted"},
		{"key", "credential role", "no service account, or its key is valid"},
		{"body", "body", "read"},
		{"signature", "signature", w.signatureCheck()},
		{"memory", "overload", "free"},
		{"handshake", "handshake", ""},
		{"filter", "filter filtered", w.filterCheck()},
		{"template", "template", "rendered"},
		{"event", "event broker", "published"},
	}
	for _, step := range steps {
		if step.name == "filter" && d.filtered() && d.Error == nil {
			c.say(cmd, "  %-17s not matched: no event", step.name)
			return
		}
		if failed != "" && slices.Contains(strings.Fields(step.reasons), failed) {
			c.say(cmd, "  %-17s %s", step.name, colored(cmd.OutOrStdout(), red, "FAILED: "+printable(d.result())))
			c.say(cmd, "%s", sourceLine(w.sourceOf(failed, rendered), d.ErrorLine, d.ErrorColumn))
			return
		}
		switch {
		case step.name == "handshake":
			if d.Handshake != nil {
				c.say(cmd, "  %-17s answered", step.name)
				return
			}
			continue
		case d.Duplicate && step.name == "filter":
			c.say(cmd, "  %-17s the event of an earlier delivery", "duplicate")
			return
		case failed == "" && d.Status >= http.StatusBadRequest:
			c.say(cmd, "  %-17s %s", "refused", colored(cmd.OutOrStdout(), red, printable(d.result())))
			return
		}
		c.say(cmd, "  %-17s %s", step.name, colored(cmd.OutOrStdout(), green, step.what))
	}
}
