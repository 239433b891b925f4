package stream

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/feeds"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// capabilityRuns makes the channel deliver runs when they are due, so that a worker need not poll to start them in time. It
// is an extension: stock workers do not request it.
const capabilityRuns = "scheduled_flow_runs.v1"

const (
	// runsDelay is the time for which new runs are merged into one poll.
	runsDelay = 10 * time.Millisecond
	// maxRuns bounds the runs of a poll.
	maxRuns = 200
)

// dueRuns decides which runs of a poll are due, and when the next poll has to be.
//
//	run waits for a worker ─▶ live feed ─▶ poll ─┬─▶ due: work_pool.flow_runs_due.v1
//	                              15 s ──────────┘└─▶ later: poll again at its start
//
// Delivery reserves nothing: the worker that sets a run to PENDING has it. A run is delivered once for each of its states.
type dueRuns struct {
	delivered map[string]string // The state ids of runs that still wait, by run.
}

// take returns the runs of a poll that are due and new, and when to poll again.
func (d *dueRuns) take(polled []*orchv1.WorkerFlowRunResponse, now time.Time) (due []*orchv1.WorkerFlowRunResponse, next time.Time) {
	next = now.Add(feeds.RunsAhead)
	waiting := make(map[string]string, len(polled))
	for _, one := range polled {
		run := one.GetFlowRun()
		if start := run.GetNextScheduledStartTime().AsTime(); start.After(now) {
			if start.Before(next) {
				next = start
			}
			continue
		}
		waiting[run.GetId()] = run.GetStateId()
		if d.delivered[run.GetId()] != run.GetStateId() {
			due = append(due, one)
		}
	}
	d.delivered = waiting
	return due, next
}

// runDelivery delivers the due runs of a channel. Its fields are nil for a worker that did not request it.
type runDelivery struct {
	due     dueRuns
	waiting *subscriber[string]
	news    <-chan struct{}
	timer   *time.Timer
	elapsed <-chan time.Time
	next    time.Time // Of the timer.
}

// deliverRuns begins the delivery where the worker requested it. The caller ends it.
func (c *workerChannel) deliverRuns(ctx context.Context) (*runDelivery, closeReason) {
	d := &runDelivery{}
	if !slices.Contains(c.hello.Capabilities, capabilityRuns) {
		return d, closeReason{}
	}
	name := c.socket.pool
	d.waiting = newSubscriber(c.socket.info.Workspace, false, func(pool string) bool { return pool == name })
	if c.server.runs.join(ctx, d.waiting) != nil {
		return d, channelTransient
	}
	d.news = d.waiting.news
	d.timer = time.NewTimer(0)
	d.elapsed, d.next = d.timer.C, time.Now()
	return d, closeReason{}
}

// end ends the delivery.
func (d *runDelivery) end(s *Server) {
	if d.timer != nil {
		d.timer.Stop()
	}
	if d.waiting != nil {
		s.runs.leave(d.waiting)
	}
}

// at makes the next poll be at a time.
func (d *runDelivery) at(next time.Time) {
	d.next = next
	d.timer.Reset(time.Until(next))
}

// announced brings the next poll forward.
func (d *runDelivery) announced() closeReason {
	if _, end := d.waiting.take(); !end.ok() {
		return channelTransient
	}
	if soon := time.Now().Add(runsDelay); soon.Before(d.next) {
		d.at(soon)
	}
	return closeReason{}
}

// poll reads the runs that a worker may start, and sends those that are due.
func (c *workerChannel) poll(ctx context.Context, d *runDelivery) closeReason {
	response, _, err := c.server.opts.Caller.Call(ctx, orchv1.WorkPoolService_GetScheduledFlowRuns_FullMethodName, &orchv1.GetScheduledFlowRunsRequest{
		Name: c.socket.pool, Query: &orchv1.ScheduledFlowRunQuery{
			WorkQueueNames: c.hello.WorkQueueNames, ScheduledBefore: timestamppb.New(time.Now().Add(feeds.RunsAhead)),
			Limit: &orchv1.PageLimit{Value: maxRuns},
		},
	})
	if err != nil {
		return c.failed(ctx, "poll the runs of a worker's channel", err)
	}
	polled, ok := response.(*orchv1.WorkerFlowRunList)
	if !ok {
		return channelTransient
	}
	due, next := d.due.take(polled.GetFlowRuns(), time.Now())
	d.at(next)
	if len(due) == 0 {
		return closeReason{}
	}
	runs, err := restjson.Marshal(&orchv1.WorkerFlowRunList{FlowRuns: due})
	if err != nil {
		return c.failed(ctx, "write the runs of a worker's channel", err)
	}
	return send(ctx, c, "work_pool.flow_runs_due.v1", json.RawMessage(runs))
}

// feedRuns is the source of the feed of pools whose runs wait for a worker.
func (s *Server) feedRuns(ctx context.Context, ready func()) error {
	return feeds.WaitingRuns(s.opts.Broker).Subscribe(ctx, func(workspace uuid.UUID, pool []byte) {
		s.runs.offer(workspace, string(pool), message{})
	}, broker.OnReady(ready))
}
