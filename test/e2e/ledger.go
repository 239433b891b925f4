package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Ledger records the guarantees of responses: each response that confirms a write, with the data that must exist.
type Ledger struct {
	mu sync.Mutex
	// Webhooks are the numbers of the deliveries with response 204.
	webhooks map[string]bool
	// States are the ids of the states with response 201, by run.
	states map[string][]string
	// Events are the ids of the events with response 204.
	events map[string]bool
	// Unknown counts requests without a response: they may be stored or not.
	unknown int
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{webhooks: map[string]bool{}, states: map[string][]string{}, events: map[string]bool{}}
}

// Acknowledged returns the number of responses that confirmed a write.
func (l *Ledger) Acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.webhooks) + len(l.events)
	for _, states := range l.states {
		n += len(states)
	}
	return n
}

// Delivered reports whether a delivery was confirmed.
func (l *Ledger) Delivered(number string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.webhooks[number]
}

// Unknown returns the number of requests without a response.
func (l *Ledger) Unknown() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unknown
}

// Client calls a server and updates the ledger.
type Client struct {
	HTTP   *http.Client
	Ledger *Ledger
	// UserAgent is sent with each request; empty sends that of net/http.
	UserAgent string
	// Since is the earliest time of the events that Check reads; zero is a day ago.
	Since time.Time
}

// post sends JSON and decodes the response into a non-nil out.
func (c *Client) post(ctx context.Context, url string, body, out any) (int, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, fmt.Errorf("encode request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return 0, fmt.Errorf("create request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	return c.do(request, out)
}

func (c *Client) get(ctx context.Context, url string, out any) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, fmt.Errorf("create request: %w", err)
	}
	return c.do(request, out)
}

func (c *Client) do(request *http.Request, out any) (int, error) {
	if c.UserAgent != "" {
		request.Header.Set("User-Agent", c.UserAgent)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		pause(request.Context()) // The server is down: do not retry thousands of times.
		return 0, fmt.Errorf("call %s: %w", request.URL.Path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, fmt.Errorf("read response of %s: %w", request.URL.Path, err)
	}
	if out == nil || response.StatusCode >= http.StatusMultipleChoices || len(text) == 0 {
		return response.StatusCode, nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return 0, fmt.Errorf("decode response of %s: %w", request.URL.Path, err)
	}
	return response.StatusCode, nil
}

func pause(ctx context.Context) {
	select {
	case <-time.After(10 * time.Millisecond):
	case <-ctx.Done():
	}
}

// CreateWebhook creates a webhook whose events have the delivery's number as their resource, and returns its slug.
func (c *Client) CreateWebhook(ctx context.Context, o *Orch, name string) (string, error) {
	var made struct{ Slug string }
	status, err := c.post(ctx, o.API()+"/webhooks/", map[string]any{
		"name": name,
		"template": `{"event": "delivered", "resource": {"orch.resource.id": "delivery.{{ body.number }}"},` +
			` "payload": {"number": "{{ body.number }}"}}`,
	}, &made)
	if err == nil && status != http.StatusCreated {
		err = fmt.Errorf("create webhook: status %d", status)
	}
	return made.Slug, err
}

// Deliver posts one numbered delivery and records the confirmation.
func (c *Client) Deliver(ctx context.Context, o *Orch, slug, number string) {
	status, err := c.post(ctx, o.URL+"/hooks/"+slug, map[string]any{"number": number}, nil)
	c.Ledger.mu.Lock()
	defer c.Ledger.mu.Unlock()
	switch {
	case err != nil:
		c.Ledger.unknown++
	case status == http.StatusNoContent:
		c.Ledger.webhooks[number] = true
	}
}

// Publish posts one event and records a response of 204.
func (c *Client) Publish(ctx context.Context, o *Orch, name string) {
	id := uuid.NewString()
	status, err := c.post(ctx, o.API()+"/events", []any{map[string]any{
		"id": id, "event": name, "occurred": time.Now().UTC(), "resource": map[string]string{"orch.resource.id": "published"},
	}}, nil)
	c.Ledger.mu.Lock()
	defer c.Ledger.mu.Unlock()
	switch {
	case err != nil:
		c.Ledger.unknown++
	case status == http.StatusNoContent:
		c.Ledger.events[id] = true
	}
}

// CreateRun creates a run of a flow and returns its id; empty without a response.
func (c *Client) CreateRun(ctx context.Context, o *Orch, flow string) string {
	var made struct {
		ID      string `json:"id"`
		StateID string `json:"state_id"`
	}
	status, err := c.post(ctx, o.API()+"/flow_runs/", map[string]any{"flow_id": flow}, &made)
	c.Ledger.mu.Lock()
	defer c.Ledger.mu.Unlock()
	if err != nil {
		c.Ledger.unknown++
		return ""
	}
	if status != http.StatusCreated {
		return ""
	}
	c.Ledger.states[made.ID] = []string{made.StateID}
	return made.ID
}

// SetState proposes a state and records the confirmation.
func (c *Client) SetState(ctx context.Context, o *Orch, run, kind string) {
	var result struct {
		State struct {
			ID string `json:"id"`
		} `json:"state"`
	}
	status, err := c.post(ctx, o.API()+"/flow_runs/"+run+"/set_state",
		map[string]any{"state": map[string]any{"type": kind}, "force": true}, &result)
	c.Ledger.mu.Lock()
	defer c.Ledger.mu.Unlock()
	switch {
	case err != nil:
		c.Ledger.unknown++
	case status == http.StatusCreated:
		c.Ledger.states[run] = append(c.Ledger.states[run], result.State.ID)
	}
}

// event is the relevant part of a stored event.
type event struct {
	ID       string            `json:"id"`
	Event    string            `json:"event"`
	Occurred time.Time         `json:"occurred"`
	Resource map[string]string `json:"resource"`
	Payload  json.RawMessage   `json:"payload"`
}

// aheadOfTime is how far in the future events may have occurred: clocks of servers step during tests.
const aheadOfTime = 2 * time.Hour

// events reads all events whose name starts with a prefix, page after page.
func (c *Client) events(ctx context.Context, o *Orch, prefix string) ([]event, error) {
	since := c.Since
	if since.IsZero() {
		since = time.Now().Add(-24 * time.Hour)
	}
	var all []event
	var page struct {
		Events   []event `json:"events"`
		NextPage string  `json:"next_page"`
	}
	status, err := c.post(ctx, o.API()+"/events/filter",
		map[string]any{"limit": 50, "filter": map[string]any{
			"event":    map[string]any{"prefix": []string{prefix}},
			"occurred": map[string]any{"since": since.UTC(), "until": time.Now().UTC().Add(aheadOfTime)},
		}}, &page)
	for err == nil && status == http.StatusOK {
		all = append(all, page.Events...)
		if page.NextPage == "" {
			return all, nil
		}
		next := page.NextPage
		page.Events, page.NextPage = nil, ""
		status, err = c.get(ctx, next, &page)
	}
	if err == nil {
		err = fmt.Errorf("read events: status %d", status)
	}
	return nil, err
}

// countEvents returns the number of stored events of a name; -1 without a response.
func (c *Client) countEvents(ctx context.Context, o *Orch, name string) int {
	var page struct{ Total int }
	filter := map[string]any{"limit": 1, "filter": map[string]any{"event": map[string]any{"name": []string{name}}}}
	if status, err := c.post(ctx, o.API()+"/events/filter", filter, &page); err != nil || status != http.StatusOK {
		return -1
	}
	return page.Total
}

// Verdict is the result of a check.
type Verdict struct {
	// Lost are confirmed writes without data; Twice are events that exist more than once.
	Lost, Twice []string
}

// Check compares the ledger with a server. Confirmed data becomes readable soon; the check polls until it is, or until
// the timeout.
func (c *Client) Check(ctx context.Context, o *Orch, waitTimeout time.Duration) (Verdict, error) {
	deadline := time.Now().Add(waitTimeout)
	for {
		verdict, err := c.check(ctx, o)
		if err != nil || len(verdict.Lost) == 0 || time.Now().After(deadline) {
			return verdict, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return verdict, ctx.Err()
		}
	}
}

func (c *Client) check(ctx context.Context, o *Orch) (Verdict, error) {
	var v Verdict
	deliveries, err := c.events(ctx, o, "delivered")
	if err != nil {
		return v, err
	}
	seen := map[string]int{}
	for _, e := range deliveries {
		seen[strings.TrimPrefix(e.Resource["orch.resource.id"], "delivery.")]++
	}
	sent, err := c.events(ctx, o, "published")
	if err != nil {
		return v, err
	}
	published := map[string]int{}
	for _, e := range sent {
		published[e.ID]++
	}
	transitions, err := c.events(ctx, o, "orch.flow-run.")
	if err != nil {
		return v, err
	}
	events := map[string]int{}
	for _, e := range transitions {
		events[e.ID]++
	}
	c.Ledger.mu.Lock()
	defer c.Ledger.mu.Unlock()
	for number := range c.Ledger.webhooks {
		switch n := seen[number]; {
		case n == 0:
			v.Lost = append(v.Lost, "delivery "+number)
		case n > 1:
			v.Twice = append(v.Twice, fmt.Sprintf("delivery %s: %d events", number, n))
		}
	}
	for id := range c.Ledger.events {
		switch n := published[id]; {
		case n == 0:
			v.Lost = append(v.Lost, "event "+id)
		case n > 1:
			v.Twice = append(v.Twice, fmt.Sprintf("event %s: %d times", id, n))
		}
	}
	for run, states := range c.Ledger.states {
		var history []struct {
			ID string `json:"id"`
		}
		status, err := c.get(ctx, o.API()+"/flow_run_states/?flow_run_id="+run, &history)
		if err != nil || status != http.StatusOK {
			return v, fmt.Errorf("read history: status %d: %w", status, err)
		}
		stored := map[string]int{}
		for _, s := range history {
			stored[s.ID]++
		}
		for _, id := range states {
			if stored[id] != 1 {
				v.Lost = append(v.Lost, fmt.Sprintf("state %s of run %s: %d rows", id, run, stored[id]))
			}
			switch n := events[id]; {
			case n == 0:
				v.Lost = append(v.Lost, fmt.Sprintf("event of state %s", id))
			case n > 1:
				v.Twice = append(v.Twice, fmt.Sprintf("state %s: %d events", id, n))
			}
		}
	}
	return v, nil
}

// Contend proposes a state for a run that others race for, and enters what came of it into the register.
func (c *Client) Contend(ctx context.Context, o *Orch, run string, r *Register) {
	name, done := r.Write()
	status, err := c.post(ctx, o.API()+"/flow_runs/"+run+"/set_state",
		map[string]any{"state": map[string]any{"type": "RUNNING", "message": name}, "force": true}, nil)
	// A refusal of the server's own is an answer; what a proxy or a deadline answers may have been stored.
	done(err == nil && status == http.StatusCreated, err == nil && status >= http.StatusBadRequest && status < http.StatusInternalServerError)
}

// Observe reads the state of a run that others race for.
func (c *Client) Observe(ctx context.Context, o *Orch, run string, r *Register) {
	done := r.Read()
	var read struct {
		State struct {
			Message string `json:"message"`
		} `json:"state"`
	}
	if status, err := c.get(ctx, o.API()+"/flow_runs/"+run, &read); err == nil && status == http.StatusOK {
		done(read.State.Message)
	}
}

// History returns the writes in the history of a run, in their order. The order is that of the run's events, each of which has the
// state before: timestamps order states only as long as no clock steps. It waits for no event: the rest of an incomplete order is
// missing.
func (c *Client) History(ctx context.Context, o *Orch, run string) ([]string, error) {
	var states []struct {
		Message string `json:"message"`
	}
	status, err := c.get(ctx, o.API()+"/flow_run_states/?flow_run_id="+run, &states)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("read a history: status %d", status)
	}
	if err != nil {
		return nil, err
	}
	stored := map[string]int{}
	for _, s := range states {
		stored[s.Message]++
	}
	next, err := c.transitions(ctx, o, run)
	if err != nil {
		return nil, err
	}
	var names []string
	for name, follows := next[""]; follows; name, follows = next[name] {
		for range stored[name] { // A state that is stored twice is twice in the history.
			names = append(names, name)
		}
	}
	return names, nil
}

// transitions returns the writes of a run by the write before; that of the first is "".
func (c *Client) transitions(ctx context.Context, o *Orch, run string) (map[string]string, error) {
	all, err := c.events(ctx, o, "orch.flow-run.")
	if err != nil {
		return nil, err
	}
	next := map[string]string{}
	for _, e := range all {
		if e.Resource["orch.resource.id"] != "orch.flow-run."+run {
			continue
		}
		var payload struct {
			Initial   struct{ Message string } `json:"initial_state"`
			Validated struct{ Message string } `json:"validated_state"`
		}
		if err := json.Unmarshal(e.Payload, &payload); err != nil {
			return nil, fmt.Errorf("decode event: %w", err)
		}
		if payload.Validated.Message != "" { // The creation has none.
			next[payload.Initial.Message] = payload.Validated.Message
		}
	}
	return next, nil
}
