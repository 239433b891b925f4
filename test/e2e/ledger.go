package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Ledger records the guarantees of responses: each response that confirms a write, with the data that must exist.
type Ledger struct {
	mu sync.Mutex
	// phase is the phase of the test that acknowledgements belong to.
	phase string
	// Acknowledged counts the responses that confirmed a write, by phase.
	acknowledged map[string]int
	// Webhooks are the numbers of the deliveries with response 204, with their phases.
	webhooks map[string]string
	// States are the states with response 201, by run.
	states map[string][]acknowledgedState
	// Events are the ids of the events with response 204, with their phases.
	events map[string]string
	// Unknown counts requests without a response: they may be stored or not.
	unknown int
	// available measures the longest time without an acknowledgement of each kind of request.
	available map[string]*Availability
}

// acknowledgedState is a state of a run that a response confirmed.
type acknowledgedState struct{ id, phase string }

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{
		acknowledged: map[string]int{}, webhooks: map[string]string{}, states: map[string][]acknowledgedState{}, events: map[string]string{},
		available: map[string]*Availability{},
	}
}

// Begin starts a phase of the test. Later acknowledgements, and the times without one, belong to it.
func (l *Ledger) Begin(phase string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase = phase
	for _, a := range l.available {
		a.Longest()
	}
}

// Unavailable returns the longest time since Begin without an acknowledgement, of the kind of request that waited longest.
func (l *Ledger) Unavailable() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var longest time.Duration
	for _, a := range l.available {
		longest = max(longest, a.Longest())
	}
	return longest
}

// delivered, published and stateSet note responses that confirmed a write. The caller holds the lock.
func (l *Ledger) delivered(number string) {
	l.webhooks[number] = l.phase
	l.acknowledge("webhook")
}

func (l *Ledger) published(id string) {
	l.events[id] = l.phase
	l.acknowledge("event")
}

func (l *Ledger) stateSet(kind, run, state string) {
	l.states[run] = append(l.states[run], acknowledgedState{state, l.phase})
	l.acknowledge(kind)
}

func (l *Ledger) acknowledge(kind string) {
	l.acknowledged[l.phase]++
	if l.available[kind] == nil {
		l.available[kind] = &Availability{}
	}
	l.available[kind].Success()
}

// Acknowledged returns the number of responses that confirmed a write.
func (l *Ledger) Acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, count := range l.acknowledged {
		n += count
	}
	return n
}

// AcknowledgedIn returns the number of responses of a phase that confirmed a write.
func (l *Ledger) AcknowledgedIn(phase string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acknowledged[phase]
}

// Delivered reports whether a delivery was confirmed.
func (l *Ledger) Delivered(number string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, delivered := l.webhooks[number]
	return delivered
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
	return c.send(ctx, http.MethodPost, url, body, out)
}

// send is post by another method.
func (c *Client) send(ctx context.Context, method, url string, body, out any) (int, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, fmt.Errorf("encode request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
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
		c.Ledger.delivered(number)
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
		c.Ledger.published(id)
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
	c.Ledger.stateSet("run", made.ID, made.StateID)
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
		c.Ledger.stateSet("state", run, result.State.ID)
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
	// Lost are confirmed writes without data; Twice are events that exist more than once; Damaged are documents that the server returned
	// otherwise than they were written.
	Lost, Twice, Damaged []string
	// LostIn and TwiceIn count them by phase.
	LostIn, TwiceIn map[string]int
}

func (v *Verdict) lost(phase, format string, args ...any) {
	v.Lost = append(v.Lost, fmt.Sprintf(format, args...))
	v.LostIn[phase]++
}

func (v *Verdict) twice(phase, format string, args ...any) {
	v.Twice = append(v.Twice, fmt.Sprintf(format, args...))
	v.TwiceIn[phase]++
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
	v := Verdict{LostIn: map[string]int{}, TwiceIn: map[string]int{}}
	deliveries, err := c.events(ctx, o, "delivered")
	if err != nil {
		return v, err
	}
	seen := map[string]int{}
	for _, e := range deliveries {
		number := strings.TrimPrefix(e.Resource["orch.resource.id"], "delivery.")
		seen[number]++
		var payload struct{ Number string }
		if err := json.Unmarshal(e.Payload, &payload); err != nil || payload.Number != number {
			v.Damaged = append(v.Damaged, fmt.Sprintf("delivery %s: payload %s", number, e.Payload))
		}
	}
	sent, err := c.events(ctx, o, "published")
	if err != nil {
		return v, err
	}
	published := map[string]int{}
	for _, e := range sent {
		published[e.ID]++
		if e.Resource["orch.resource.id"] != "published" {
			v.Damaged = append(v.Damaged, fmt.Sprintf("event %s: resource %v", e.ID, e.Resource))
		}
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
	for number, phase := range c.Ledger.webhooks {
		switch n := seen[number]; {
		case n == 0:
			v.lost(phase, "delivery %s", number)
		case n > 1:
			v.twice(phase, "delivery %s: %d events", number, n)
		}
	}
	for id, phase := range c.Ledger.events {
		switch n := published[id]; {
		case n == 0:
			v.lost(phase, "event %s", id)
		case n > 1:
			v.twice(phase, "event %s: %d times", id, n)
		}
	}
	for run, states := range c.Ledger.states {
		var history []struct {
			ID string `json:"id"`
		}
		status, err := c.get(ctx, o.API()+"/flow_run_states/?flow_run_id="+run, &history)
		if err != nil || status != http.StatusOK {
			return v, unexpected("read history", status, err)
		}
		stored := map[string]int{}
		for _, s := range history {
			stored[s.ID]++
		}
		for _, state := range states {
			if stored[state.id] != 1 {
				v.lost(state.phase, "state %s of run %s: %d rows", state.id, run, stored[state.id])
			}
			switch n := events[state.id]; {
			case n == 0:
				v.lost(state.phase, "event of state %s", state.id)
			case n > 1:
				v.twice(state.phase, "state %s: %d events", state.id, n)
			}
		}
	}
	return v, nil
}

// unexpected is the error of a request that failed, or whose response has another status than expected.
func unexpected(request string, status int, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", request, err)
	}
	return fmt.Errorf("%s: status %d", request, status)
}

// WaitDone waits until the effects of all that was acknowledged in a phase are executed: each event is stored. It returns how many are
// left at the end of the context.
func (c *Client) WaitDone(ctx context.Context, o *Orch, phase string) (left int) {
	var ids, deliveries []string
	c.Ledger.mu.Lock()
	for id, event := range c.Ledger.events {
		if event == phase {
			ids = append(ids, id)
		}
	}
	for _, states := range c.Ledger.states {
		for _, state := range states {
			if state.phase == phase {
				ids = append(ids, state.id)
			}
		}
	}
	for number, delivery := range c.Ledger.webhooks {
		if delivery == phase {
			deliveries = append(deliveries, "delivery."+number)
		}
	}
	c.Ledger.mu.Unlock()
	for {
		ids = c.missing(ctx, o, ids, "id", "id", func(e event) string { return e.ID })
		deliveries = c.missing(ctx, o, deliveries, "resource", "id", func(e event) string { return e.Resource["orch.resource.id"] })
		if left = len(ids) + len(deliveries); left == 0 || ctx.Err() != nil {
			return left
		}
		pause(ctx)
	}
}

// missing returns those of the keys that no stored event has. A filter of the API, one of its fields, and key say where an event has it.
func (c *Client) missing(ctx context.Context, o *Orch, keys []string, filter, field string, key func(event) string) []string {
	const perRequest = 50
	var missing []string
	for chunk := range slices.Chunk(keys, perRequest) {
		var page struct{ Events []event }
		status, err := c.post(ctx, o.API()+"/events/filter", map[string]any{"limit": perRequest, "filter": map[string]any{
			filter:     map[string]any{field: chunk},
			"occurred": map[string]any{"since": time.Now().UTC().Add(-24 * time.Hour), "until": time.Now().UTC().Add(aheadOfTime)},
		}}, &page)
		found := map[string]bool{}
		if err == nil && status == http.StatusOK {
			for _, e := range page.Events {
				found[key(e)] = true
			}
		}
		for _, k := range chunk {
			if !found[k] {
				missing = append(missing, k)
			}
		}
	}
	return missing
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
