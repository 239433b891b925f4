// Command queues measures whether runs that cannot start hide others: a deployment with one slot, which a run holds, has 10,000 runs that
// are due; then another deployment of the queue gets a run, and a worker polls until it has it. After that the queue has 50,000 scheduled
// runs of ten deployments, which workers poll in an interval.
//
// It prints the figures and exits with 1 when one misses its bound.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/orch-project/orch/test/bench/beside"
)

func main() { beside.Main("bench-queues", run) }

const (
	// maxDelay bounds the time until a worker has a run behind others that wait for a slot, maxPoll the p99 of polls.
	maxDelay = time.Second
	maxPoll  = 20 * time.Millisecond
	// bulk is the largest number of runs that one call creates.
	bulk = 100
	// pause is the time between two polls, and polls their number.
	pause = 20 * time.Millisecond
	polls = 500
	// pollLimit is the number of runs that a poll returns at most.
	pollLimit = 20
)

func run(ctx context.Context) error {
	orch := flag.String("orch", "bin/orch", "the binary")
	waiting := flag.Int("waiting", 10_000, "number of runs that wait for the slot")
	scheduled := flag.Int("scheduled", 50_000, "number of scheduled runs that are polled")
	flag.Parse()
	internal, err := beside.FreeAddress()
	if err != nil {
		return err
	}
	server, err := beside.StartOrch(*orch, "ORCH_INTERNAL_LISTEN="+internal)
	if err != nil {
		return err
	}
	q := &queue{conn: server.Conn(), compacted: func() error { return server.AwaitCompactions(internal) }}
	defer q.conn.Close()
	delay, err := q.delay(*waiting)
	if err != nil {
		return errors.Join(err, server.Stop())
	}
	fmt.Printf("a worker has a run of another deployment after %s while %d runs wait for a slot\n", delay, *waiting)
	took, err := q.polls(ctx, *scheduled)
	if err = errors.Join(err, server.Stop()); err != nil {
		return err
	}
	slices.Sort(took)
	p50, p99 := took[len(took)/2], took[len(took)*99/100]
	fmt.Printf("polls at %d scheduled runs: p50 %s, p99 %s\n", *scheduled, p50, p99)
	var missed []error
	if delay > maxDelay {
		missed = append(missed, fmt.Errorf("the delay is %s, above %s", delay, maxDelay))
	}
	if p99 > maxPoll {
		missed = append(missed, fmt.Errorf("the p99 of polls is %s, above %s", p99, maxPoll))
	}
	return errors.Join(missed...)
}

// queue is the default queue of a pool, with its client.
type queue struct {
	conn *beside.Conn
	// compacted waits until the store has compacted the runs that were created.
	compacted func() error
	flow      string
}

func (q *queue) post(path, body string, into any) error {
	answer, err := q.conn.Call(http.MethodPost, path, []byte(body))
	if err != nil || into == nil {
		return err
	}
	return answer.Decode(into)
}

type identified struct{ ID string }

// deployment creates a deployment, with a limit if more is not empty.
func (q *queue) deployment(name, more string) (string, error) {
	if q.flow == "" {
		var flow identified
		if err := q.post("/flows/", `{"name":"queues"}`, &flow); err != nil {
			return "", err
		}
		q.flow = flow.ID
		if err := q.post("/work_pools/", `{"name":"pool","type":"process"}`, nil); err != nil {
			return "", err
		}
	}
	var d identified
	err := q.post("/deployments/", fmt.Sprintf(`{"name":%q,"flow_id":%q,"work_pool_name":"pool"%s}`, name, q.flow, more), &d)
	return d.ID, err
}

// runs creates runs of a deployment that are due.
func (q *queue) runs(deployment string, n int) error {
	body := "[" + strings.TrimSuffix(strings.Repeat(`{"state":{"type":"SCHEDULED"}},`, bulk), ",") + "]"
	for range n / bulk {
		if err := q.post("/deployments/"+deployment+"/create_flow_run/bulk", body, nil); err != nil {
			return err
		}
	}
	return nil
}

// poll returns the ids of the runs that a worker may start.
func (q *queue) poll() ([]string, error) {
	var due []struct {
		Run identified `json:"flow_run"`
	}
	body := fmt.Sprintf(`{"scheduled_before":%q,"limit":%d}`, time.Now().UTC().Add(10*time.Second).Format(time.RFC3339Nano), pollLimit)
	err := q.post("/work_pools/pool/get_scheduled_flow_runs", body, &due)
	var ids []string
	for _, one := range due {
		ids = append(ids, one.Run.ID)
	}
	return ids, err
}

// delay returns the time from the creation of a run until a poll has it, while others wait for the slot of their deployment.
func (q *queue) delay(waiting int) (time.Duration, error) {
	limited, err := q.deployment("limited", `,"concurrency_limit":1`)
	if err != nil {
		return 0, err
	}
	other, err := q.deployment("other", "")
	if err != nil {
		return 0, err
	}
	if err := q.runs(limited, waiting); err != nil {
		return 0, err
	}
	first, err := q.poll()
	if err != nil || len(first) == 0 {
		return 0, errors.Join(err, errors.New("no run is due"))
	}
	if err := q.post("/flow_runs/"+first[0]+"/set_state", `{"state":{"type":"PENDING"}}`, nil); err != nil {
		return 0, err
	}
	var run identified
	if err := q.post("/deployments/"+other+"/create_flow_run", `{}`, &run); err != nil {
		return 0, err
	}
	created := time.Now()
	for {
		ids, err := q.poll()
		if err != nil {
			return 0, err
		}
		if slices.Contains(ids, run.ID) {
			return time.Since(created), nil
		}
		if time.Since(created) > time.Minute {
			return 0, errors.New("no poll has the run after a minute")
		}
		time.Sleep(pause)
	}
}

// polls returns the durations of polls of a queue with scheduled runs of ten deployments.
func (q *queue) polls(ctx context.Context, scheduled int) ([]time.Duration, error) {
	const deployments = 10
	for i := range deployments {
		d, err := q.deployment(fmt.Sprintf("busy-%d", i), "")
		if err != nil {
			return nil, err
		}
		if err := q.runs(d, scheduled/deployments); err != nil {
			return nil, err
		}
	}
	if err := q.compacted(); err != nil {
		return nil, err
	}
	took := make([]time.Duration, 0, polls)
	for range polls {
		began := time.Now()
		if _, err := q.poll(); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return took, nil
}
