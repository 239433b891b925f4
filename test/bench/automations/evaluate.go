package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/test/bench/beside"
)

const (
	// batchEvents is how many events a request carries.
	batchEvents = 50
	// waitTimeout bounds the wait for a firing, and pollEvery is the pause between two reads.
	waitTimeout = 5 * time.Minute
	pollEvery   = 2 * time.Millisecond
)

type object = map[string]any

// reactive is an automation whose only trigger counts events of one name.
func reactive(name, expect string, threshold int) object {
	return object{
		"name": name, "actions": []any{object{"type": "do-nothing"}},
		"trigger": object{"type": "event", "posture": "Reactive", "expect": []string{expect}, "threshold": threshold, "within": 3600},
	}
}

func call(c *beside.Conn, path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("write a request: %w", err)
	}
	answer, err := c.Call(http.MethodPost, path, text)
	if err != nil || out == nil {
		return err
	}
	if text, err = answer.Text(); err != nil {
		return err
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("read the response of %s: %w", path, err)
	}
	return nil
}

// counting creates the automations from one number to another. Each counts events of a name of its own and never fires.
func counting(ctx context.Context, s *beside.Server, conns, from, to int) error {
	var next atomic.Int64
	next.Store(int64(from))
	_, err := beside.Fill(ctx, s, conns, to-from, 0, func(c *beside.Conn, _ int) error {
		n := next.Add(1) - 1
		return call(c, "/automations/", reactive(fmt.Sprintf("counts %d", n), fmt.Sprintf("bench.%d", n), 1_000_000_000), nil)
	})
	return err
}

func event(name, resource string) object {
	return object{
		"id": uuid.Must(uuid.NewV7()).String(), "event": name, "occurred": time.Now().UTC().Format(time.RFC3339Nano),
		"resource": object{"prefect.resource.id": resource}, "related": []any{}, "payload": object{"n": 1},
	}
}

// rate is how many events a server has evaluated in how much time.
type rate struct {
	events int
	took   time.Duration
}

func (r *rate) perSecond() float64 {
	if r.took == 0 {
		return 0
	}
	return float64(r.events) / r.took.Seconds()
}

// round posts events that each one automation takes, then one that fires. Events are evaluated in their order, so all of
// them are evaluated when that firing is stored.
func (r *rate) round(ctx context.Context, s *beside.Server, end string, events, automations, conns int) error {
	c := s.Conn()
	defer c.Close()
	if err := call(c, "/automations/", reactive(end, end, 1), nil); err != nil {
		return err
	}
	time.Sleep(2 * time.Second) // Until the Python server's evaluation knows the automation.
	began := time.Now()
	var next atomic.Int64
	if _, err := beside.Fill(ctx, s, conns, max(1, events/batchEvents), 0, func(c *beside.Conn, _ int) error {
		batch := make([]object, batchEvents)
		for i := range batch {
			batch[i] = event(fmt.Sprintf("bench.%d", int(next.Add(1))%automations), "bench.resource")
		}
		return call(c, "/events", batch, nil)
	}); err != nil {
		return err
	}
	last := event(end, "bench.end")
	if err := call(c, "/events", []any{last}, nil); err != nil {
		return err
	}
	if _, err := awaitFiring(ctx, c, last["id"].(string)); err != nil {
		return err
	}
	r.events += max(1, events/batchEvents) * batchEvents
	r.took += time.Since(began)
	return nil
}

// awaitFiring waits until the firing that an event caused is stored, and returns when it happened.
func awaitFiring(ctx context.Context, c *beside.Conn, event string) (time.Time, error) {
	query := object{"limit": 1, "filter": object{
		"event":        object{"name": []string{"prefect.automation.triggered"}},
		"any_resource": object{"id": []string{"prefect.event." + event}},
		"occurred":     object{"since": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)},
	}}
	for end := time.Now().Add(waitTimeout); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(pollEvery) {
		query["filter"].(object)["occurred"].(object)["until"] = time.Now().Add(time.Minute).UTC().Format(time.RFC3339)
		var page struct {
			Events []struct {
				Occurred time.Time `json:"occurred"`
			} `json:"events"`
		}
		if err := call(c, "/events/filter", query, &page); err != nil {
			return time.Time{}, err
		}
		if len(page.Events) > 0 {
			return page.Events[0].Occurred, nil
		}
	}
	return time.Time{}, fmt.Errorf("no firing of event %s within %s", event, waitTimeout)
}

// firingDelays measures the time from an event to its firing, one event at a time, by the machine's clock.
func firingDelays(ctx context.Context, s *beside.Server, name string, n int) ([]time.Duration, error) {
	c := s.Conn()
	defer c.Close()
	automation := reactive(name, name, 1)
	automation["trigger"].(object)["within"] = 0
	if err := call(c, "/automations/", automation, nil); err != nil {
		return nil, err
	}
	time.Sleep(2 * time.Second)
	var delays []time.Duration
	for range n {
		e := event(name, "bench.delay")
		sent := time.Now()
		if err := call(c, "/events", []any{e}, nil); err != nil {
			return nil, err
		}
		fired, err := awaitFiring(ctx, c, e["id"].(string))
		if err != nil {
			return nil, err
		}
		delays = append(delays, fired.Sub(sent))
	}
	slices.Sort(delays)
	return delays, nil
}

// quantile returns the value that a share q of sorted durations stays within.
func quantile(sorted []time.Duration, q float64) string {
	if len(sorted) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", float64(sorted[int(float64(len(sorted)-1)*q)].Microseconds())/1000)
}
