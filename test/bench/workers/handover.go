package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/orch-project/orch/test/bench/beside"
)

const (
	// handovers are the runs of which the time from their start to a worker is measured.
	handovers = 100
	// handoverLead is the time until the first of them, handoverPause the time between them.
	handoverLead  = 2 * time.Second
	handoverPause = 30 * time.Millisecond
	handoverPool  = "handover"
)

// due is a run as workers receive it.
type due struct {
	FlowRun struct {
		ID    string    `json:"id"`
		Start time.Time `json:"next_scheduled_start_time"`
	} `json:"flow_run"`
}

// arrivals are the times from the start of runs until a worker first had them.
type arrivals struct {
	seen map[string]bool
	took []time.Duration
}

func (a *arrivals) add(runs []due) {
	for _, run := range runs {
		if !a.seen[run.FlowRun.ID] {
			a.seen[run.FlowRun.ID] = true
			a.took = append(a.took, time.Since(run.FlowRun.Start))
		}
	}
}

func (a *arrivals) p99() time.Duration {
	slices.Sort(a.took)
	return a.took[len(a.took)*99/100]
}

// handover measures the time from the start of runs until a worker has them: one that polls in an interval, and one that
// listens to the worker channel.
func handover(ctx context.Context, s *beside.Server, interval time.Duration) (polled, pushed time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, closeIdle := newClient(s, 2)
	defer closeIdle()
	channel, err := listen(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	defer channel.CloseNow()
	if err := createRuns(ctx, c); err != nil {
		return 0, 0, err
	}
	poller, listener := &arrivals{seen: map[string]bool{}}, &arrivals{seen: map[string]bool{}}
	var failures [2]error
	var group sync.WaitGroup
	group.Go(func() { failures[0] = poller.poll(ctx, c, interval) })
	group.Go(func() { failures[1] = listener.receive(ctx, channel) })
	group.Wait()
	if err := errors.Join(failures[:]...); err != nil {
		return 0, 0, err
	}
	return poller.p99(), listener.p99(), nil
}

func createRuns(ctx context.Context, c *client) error {
	var flow, deployment identified
	if err := c.post(ctx, "/flows/", map[string]any{"name": "bench"}, &flow); err != nil {
		return err
	}
	body := map[string]any{"name": handoverPool, "flow_id": flow.ID, "work_pool_name": handoverPool}
	if err := c.post(ctx, "/deployments/", body, &deployment); err != nil {
		return err
	}
	first := time.Now().UTC().Add(handoverLead)
	runs := make([]map[string]any, handovers)
	for i := range runs {
		at := first.Add(time.Duration(i) * handoverPause)
		runs[i] = map[string]any{"state": map[string]any{"type": "SCHEDULED", "state_details": map[string]any{"scheduled_time": at}}}
	}
	return c.post(ctx, "/deployments/"+deployment.ID+"/create_flow_run/bulk", runs, nil)
}

// poll asks for due runs until all of them were returned.
func (a *arrivals) poll(ctx context.Context, c *client, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for len(a.took) < handovers {
		var runs []due
		body := map[string]any{"scheduled_before": time.Now().UTC(), "limit": 200}
		if err := c.post(ctx, "/work_pools/"+handoverPool+"/get_scheduled_flow_runs", body, &runs); err != nil {
			return err
		}
		a.add(runs)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("poll due runs: %w", ctx.Err())
		}
	}
	return nil
}

// listen opens the worker channel of the pool, which it creates.
func listen(ctx context.Context, s *beside.Server) (*websocket.Conn, error) {
	conn, response, err := websocket.Dial(ctx, "ws://"+s.Address+"/api/work_pools/"+handoverPool+"/workers/connect",
		&websocket.DialOptions{Subprotocols: []string{"prefect"}})
	if response != nil && response.Body != nil {
		defer response.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("open the worker channel: %w", err)
	}
	conn.SetReadLimit(16 << 20)
	hello, err := json.Marshal(map[string]any{
		"type": "worker.hello.v1", "id": uuid.New(), "sent_at": time.Now().UTC(), "payload": map[string]any{
			"consumer_id": uuid.New(), "worker_name": "bench", "worker_type": "process", "heartbeat_interval_seconds": 30,
			"supported_channel_versions": []string{"work_pool_worker_channel.v1"},
			"requested_capabilities":     []string{"worker_heartbeat.v1", "work_pool_snapshot.v1", "scheduled_flow_runs.v1"},
			"create_pool_if_not_found":   true,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the first frame: %w", err)
	}
	for _, frame := range [][]byte{[]byte(`{"type":"auth","token":null}`), hello} {
		if err := conn.Write(ctx, websocket.MessageText, frame); err != nil {
			return nil, fmt.Errorf("write a frame: %w", err)
		}
		if _, _, err := conn.Read(ctx); err != nil { // auth_success, worker.ready.v1
			return nil, fmt.Errorf("read a frame: %w", err)
		}
	}
	return conn, nil
}

// receive reads frames until all runs were delivered.
func (a *arrivals) receive(ctx context.Context, conn *websocket.Conn) error {
	for len(a.took) < handovers {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("read a frame: %w", err)
		}
		var f struct {
			Type    string `json:"type"`
			Payload struct {
				FlowRuns []due `json:"flow_runs"`
			} `json:"payload"`
		}
		if err := json.Unmarshal(text, &f); err != nil {
			return fmt.Errorf("decode a frame: %w", err)
		}
		a.add(f.Payload.FlowRuns)
	}
	return nil
}
