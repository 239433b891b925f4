package stream

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/feeds"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// capabilityCleanup makes the channel deliver clean-up jobs: infrastructure of cancelled runs that the worker must remove.
const capabilityCleanup = "cleanup_delivery.v1"

// cleanupKinds are the kinds of jobs that the protocol knows. The server creates jobs of the first kind.
var cleanupKinds = []string{"cancelling_timeout_teardown.v1", "pending_claim_teardown.v1"}

// cleanupEvery is the longest time between two requests for a job, for the case that the feed lost an announcement.
const cleanupEvery = 15 * time.Second

type cleanupTarget struct {
	FlowRunID         string  `json:"flow_run_id"`
	InfrastructurePID *string `json:"infrastructure_pid"`
}

type cleanupMessage struct {
	MessageID        string        `json:"message_id"`
	ReservationToken string        `json:"reservation_token"`
	LeaseExpiresAt   time.Time     `json:"lease_expires_at"`
	DeliveryCount    int64         `json:"delivery_count"`
	WorkQueueID      *string       `json:"work_queue_id"`
	Data             struct{}      `json:"data"`
	Kind             string        `json:"kind"`
	Target           cleanupTarget `json:"target"`
}

// cleanupRequest is the payload of a worker's operation.
type cleanupRequest struct {
	MessageID        uuid.UUID `json:"message_id"`
	ReservationToken string    `json:"reservation_token"`
	Reason           string    `json:"reason"`
}

type cleanupResult struct {
	RequestFrameID uuid.UUID  `json:"request_frame_id"`
	MessageID      uuid.UUID  `json:"message_id"`
	Operation      string     `json:"operation"`
	Status         string     `json:"status"`
	LeaseExpiresAt *time.Time `json:"lease_expires_at"`
	Reason         *string    `json:"reason"`
	Detail         *string    `json:"detail"`
}

// cleanupOperations are the operations of a worker, by the type of the frame.
var cleanupOperations = map[string]struct {
	name      string
	operation orchv1.CleanupOperation
}{
	"cleanup.ack.v1":     {"ack", orchv1.CleanupOperation_CLEANUP_OPERATION_ACK},
	"cleanup.release.v1": {"release", orchv1.CleanupOperation_CLEANUP_OPERATION_RELEASE},
	"cleanup.renew.v1":   {"renew", orchv1.CleanupOperation_CLEANUP_OPERATION_RENEW},
}

// cleanupAgreement checks what a hello says about clean-up jobs, and returns how many the worker handles at once; 0 means that it
// receives none.
func (h *workerHello) cleanupAgreement() (concurrency int64, ok bool) {
	requested := slices.Contains(h.Capabilities, capabilityCleanup)
	switch {
	case h.MaxCleanupConcurrency != nil:
		concurrency = *h.MaxCleanupConcurrency
	case requested && len(h.HandledCleanupKinds) > 0:
		concurrency = 1
	}
	unknown := slices.ContainsFunc(h.HandledCleanupKinds, func(kind string) bool { return !slices.Contains(cleanupKinds, kind) })
	if unknown || concurrency < 0 || !requested && (len(h.HandledCleanupKinds) > 0 || concurrency > 0) {
		return 0, false
	}
	if len(h.HandledCleanupKinds) == 0 {
		concurrency = 0
	}
	return concurrency, true
}

// cleanupDelivery delivers the jobs of a channel. Its fields are nil for a worker that receives none.
//
//	job is free ─▶ live feed ─┬─▶ reserve ─▶ cleanup.message.v1
//	             lease is over ┘
type cleanupDelivery struct {
	free    *subscriber[uuid.UUID]
	news    <-chan struct{}
	timer   *time.Timer
	elapsed <-chan time.Time
}

// deliverCleanups begins the delivery where it was agreed. The caller ends it.
func (c *workerChannel) deliverCleanups(ctx context.Context, pool uuid.UUID) (*cleanupDelivery, closeReason) {
	d := &cleanupDelivery{}
	if c.cleanups == 0 {
		return d, closeReason{}
	}
	d.free = newSubscriber(c.socket.info.Workspace, false, func(changed uuid.UUID) bool { return changed == pool })
	if c.server.cleanups.join(ctx, d.free) != nil {
		return d, channelTransient
	}
	d.news = d.free.news
	d.timer = time.NewTimer(0)
	d.elapsed = d.timer.C
	return d, closeReason{}
}

// end ends the delivery.
func (d *cleanupDelivery) end(s *Server) {
	if d.timer != nil {
		d.timer.Stop()
	}
	if d.free != nil {
		s.cleanups.leave(d.free)
	}
}

// announced requests a job, because one may be free.
func (d *cleanupDelivery) announced() closeReason {
	if _, end := d.free.take(); !end.ok() {
		return channelTransient
	}
	d.timer.Reset(0)
	return closeReason{}
}

// cleanUp reserves a job and sends it. After a job it asks again at once, because the worker may handle several.
func (c *workerChannel) cleanUp(ctx context.Context, d *cleanupDelivery) closeReason {
	response, _, err := c.server.opts.Caller.Call(ctx, orchv1.CleanupJobService_ReserveCleanupJob_FullMethodName, &orchv1.ReserveCleanupJobRequest{
		WorkPoolId: c.pool.GetId(), WorkQueueIds: c.queues, Kinds: c.hello.HandledCleanupKinds, Consumer: c.consumer(), MaxConcurrency: c.cleanups,
	})
	reserved, ok := response.(*orchv1.ReserveCleanupJobResponse)
	if err != nil || !ok {
		return c.failed(ctx, "reserve a clean-up job", err)
	}
	job := reserved.GetJob()
	if job == nil {
		wait := cleanupEvery
		if reserved.Next != nil {
			wait = min(wait, max(0, time.Until(reserved.GetNext().AsTime())))
		}
		d.timer.Reset(wait)
		return closeReason{}
	}
	d.timer.Reset(0)
	return send(ctx, c, "cleanup.message.v1", cleanupMessage{
		MessageID: job.GetId(), ReservationToken: job.GetToken(), LeaseExpiresAt: time.UnixMicro(job.GetFreeAt()).UTC(), DeliveryCount: job.GetDeliveryCount(),
		WorkQueueID: job.WorkQueueId, Kind: job.GetKind(), Target: cleanupTarget{job.GetFlowRunId(), job.InfrastructurePid},
	})
}

// consumer identifies the worker among those of its pool. It is the same after the worker connected again.
func (c *workerChannel) consumer() string {
	return c.hello.ConsumerID.String() + "/" + c.hello.WorkerName
}

// settleCleanup executes a worker's operation and sends its result.
func (c *workerChannel) settleCleanup(ctx context.Context, kind string, data []byte) closeReason {
	operation := cleanupOperations[kind]
	var f frame[cleanupRequest]
	release := operation.operation == orchv1.CleanupOperation_CLEANUP_OPERATION_RELEASE
	if !strict(data, &f) || f.Payload.ReservationToken == "" || f.Payload.MessageID == uuid.Nil || release == (f.Payload.Reason == "") {
		return channelProtocol
	}
	result := cleanupResult{RequestFrameID: f.ID, MessageID: f.Payload.MessageID, Operation: operation.name}
	settled := &orchv1.SettleCleanupJobResponse{Status: "unauthorized", Reason: "cleanup_delivery_not_accepted"}
	if c.cleanups > 0 {
		response, _, err := c.server.opts.Caller.Call(ctx, orchv1.CleanupJobService_SettleCleanupJob_FullMethodName, &orchv1.SettleCleanupJobRequest{
			WorkPoolId: c.pool.GetId(), Id: f.Payload.MessageID.String(), Token: f.Payload.ReservationToken,
			Operation: operation.operation, Reason: f.Payload.Reason,
		})
		var ok bool
		if settled, ok = response.(*orchv1.SettleCleanupJobResponse); err != nil || !ok {
			c.socket.log.WarnContext(ctx, "failed to settle a clean-up job", "operation", operation.name, "error", err)
			settled = &orchv1.SettleCleanupJobResponse{Status: "error", Reason: "cleanup_queue_operation_failed"}
		}
	}
	result.Status = settled.GetStatus()
	if reason := settled.GetReason(); reason != "" {
		result.Reason = &reason
	}
	if settled.LeaseExpiresAt != nil {
		until := settled.GetLeaseExpiresAt().AsTime()
		result.LeaseExpiresAt = &until
	}
	return send(ctx, c, "cleanup.operation_result.v1", result)
}

// received handles a frame of the worker: a heartbeat, or an operation on a clean-up job.
func (c *workerChannel) received(ctx context.Context, data []byte) closeReason {
	var f frame[json.RawMessage]
	if !strict(data, &f) {
		return channelProtocol
	}
	if _, ok := cleanupOperations[f.Type]; ok {
		return c.settleCleanup(ctx, f.Type, data)
	}
	return c.beat(ctx, data)
}

// feedCleanups is the source of the feed of pools that may have a free job.
func (s *Server) feedCleanups(ctx context.Context, ready func()) error {
	return feeds.Cleanups(s.opts.Broker).Subscribe(ctx, func(workspace, pool uuid.UUID) {
		s.cleanups.offer(workspace, pool, message{})
	}, broker.OnReady(ready))
}
