package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/feeds"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// maxWorkerFrame is the maximum size of a worker's frame in bytes; the first one may hold a job template.
	maxWorkerFrame = 6 << 20
	// snapshotDelay is the time for which changes of a pool are merged into one snapshot.
	snapshotDelay = 50 * time.Millisecond
	// channelVersion is the only version of the protocol.
	channelVersion = "work_pool_worker_channel.v1"
)

// The capabilities of every channel. A client that does not request both has misunderstood the protocol.
var channelCapabilities = []string{"worker_heartbeat.v1", "work_pool_snapshot.v1"}

// The endings of a worker's channel. Clients look at code and reason: 1002 and 1008 make them use REST for good, after
// 1011 they connect again.
var (
	channelProtocol     = closeReason{websocket.StatusProtocolError, "protocol_error"}
	channelForbidden    = closeReason{websocket.StatusPolicyViolation, "authorization_failed"}
	channelVersionOther = closeReason{websocket.StatusPolicyViolation, "unsupported_version"}
	channelHeartbeat    = closeReason{websocket.StatusInternalError, "heartbeat_persistence_failed"}
	channelTransient    = closeReason{websocket.StatusInternalError, "transient_server_error"}
)

// frame is a message of the channel in either direction.
type frame[P any] struct {
	Type    string    `json:"type"`
	ID      uuid.UUID `json:"id"`
	SentAt  time.Time `json:"sent_at"`
	Payload P         `json:"payload"`
}

type workerHello struct {
	ConsumerID            uuid.UUID       `json:"consumer_id"`
	WorkerName            string          `json:"worker_name"`
	WorkerType            string          `json:"worker_type"`
	Interval              int64           `json:"heartbeat_interval_seconds"`
	Versions              []string        `json:"supported_channel_versions"`
	Capabilities          []string        `json:"requested_capabilities"`
	WorkQueueNames        []string        `json:"work_queue_names"`
	HandledCleanupKinds   []string        `json:"handled_cleanup_kinds"`
	MaxCleanupConcurrency *int64          `json:"max_cleanup_concurrency"`
	CreatePoolIfNotFound  bool            `json:"create_pool_if_not_found"`
	BaseJobTemplate       json.RawMessage `json:"default_base_job_template"`
	WorkerMetadata        json.RawMessage `json:"worker_metadata"`
}

type workerHeartbeat struct {
	ConsumerID uuid.UUID `json:"consumer_id"`
	WorkerName string    `json:"worker_name"`
	Interval   int64     `json:"heartbeat_interval_seconds"`
}

type resolvedQueue struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type snapshot struct {
	Sequence int64           `json:"snapshot_sequence"`
	Reason   string          `json:"reason"`
	WorkPool json.RawMessage `json:"work_pool"`
}

type workerReady struct {
	ConsumerID            uuid.UUID       `json:"consumer_id"`
	WorkerID              *string         `json:"worker_id"`
	Version               string          `json:"selected_channel_version"`
	Interval              int64           `json:"effective_heartbeat_interval_seconds"`
	Accepted              []string        `json:"accepted_capabilities"`
	Rejected              []string        `json:"rejected_capabilities"`
	MaxCleanupConcurrency int64           `json:"effective_max_cleanup_concurrency"`
	Queues                []resolvedQueue `json:"resolved_work_queues"`
	Snapshot              snapshot        `json:"initial_snapshot"`
}

// workerChannel is a socket of /work_pools/{name}/workers/connect.
type workerChannel struct {
	server   *Server
	socket   *socket
	hello    workerHello
	pool     *orchv1.WorkPool // As the worker knows it.
	sequence int64
	cleanups int64       // How many clean-up jobs the worker handles at once; 0 means that it receives none.
	queues   []string    // The ids of the work queues that the worker polls.
	frames   chan []byte // The frames after the first one.
}

// workerConnect keeps a worker's channel:
//
//	worker.hello.v1 ──▶ pool, queues, first heartbeat ──▶ worker.ready.v1
//	worker.heartbeat.v1 ──▶ heartbeat; a snapshot where a change was missed
//	pool is changed ──▶ work_pool.snapshot.v1;  pool is deleted ──▶ authorization_failed
//	run is due ──▶ work_pool.flow_runs_due.v1, for a worker that requested scheduled_flow_runs.v1
//	clean-up job is free ──▶ cleanup.message.v1;  cleanup.ack.v1, … ──▶ cleanup.operation_result.v1
func (s *Server) workerConnect(ctx context.Context, k *socket) closeReason {
	var first json.RawMessage
	if end := k.hello(ctx, helloTimeout, &first, channelProtocol.code, channelProtocol.reason); !end.ok() {
		return end
	}
	c := &workerChannel{server: s, socket: k, frames: make(chan []byte)}
	if end := c.greet(first); !end.ok() {
		return end
	}
	connected, err := c.connect(ctx)
	if err != nil {
		return c.failed(ctx, "connect the channel of a worker", err)
	}
	c.pool = connected.GetWorkPool()
	id, err := uuid.Parse(c.pool.GetId())
	if err != nil {
		return c.failed(ctx, "read the id of a work pool", err)
	}
	changed := newSubscriber(k.info.Workspace, false, func(pool uuid.UUID) bool { return pool == id })
	defer s.pools.leave(changed)
	serving, cancel := context.WithCancel(ctx)
	defer cancel()
	k.listening.Go(func() {
		defer cancel()
		c.listen(ctx, serving)
	})
	if s.pools.join(serving, changed) != nil {
		return channelTransient
	}
	if end := c.ready(serving, connected); !end.ok() {
		return end
	}
	runs, end := c.deliverRuns(serving)
	defer runs.end(s)
	if !end.ok() {
		return end
	}
	cleanups, end := c.deliverCleanups(serving, id)
	defer cleanups.end(s)
	if !end.ok() {
		return end
	}
	return c.serve(serving, changed, runs, cleanups)
}

// greet reads the first frame.
func (c *workerChannel) greet(data []byte) closeReason {
	var f frame[workerHello]
	if !strict(data, &f) || f.Type != "worker.hello.v1" {
		return channelProtocol
	}
	h := f.Payload
	missing := slices.ContainsFunc(channelCapabilities, func(one string) bool { return !slices.Contains(h.Capabilities, one) })
	cleanups, agreed := h.cleanupAgreement()
	blank := slices.Contains(slices.Concat(h.Versions, h.Capabilities, h.WorkQueueNames), "")
	if h.ConsumerID == uuid.Nil || h.WorkerName == "" || h.WorkerType == "" || h.Interval < 1 ||
		len(h.Versions) == 0 || missing || blank || !agreed {
		return channelProtocol
	}
	if t := bytes.TrimSpace(h.BaseJobTemplate); len(t) > 0 && t[0] != '{' {
		return channelProtocol
	}
	if !slices.Contains(h.Versions, channelVersion) {
		return channelVersionOther
	}
	c.hello, c.cleanups = h, cleanups
	return closeReason{}
}

// strict decodes a frame and refuses unknown fields and trailing data.
func strict(data []byte, out any) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(out) == nil && !d.More()
}

// connect begins the channel. A worker that may not manage work pools neither creates its pool nor gives it a template.
func (c *workerChannel) connect(ctx context.Context) (*orchv1.ConnectWorkerResponse, error) {
	create, template := c.hello.CreatePoolIfNotFound, c.hello.BaseJobTemplate
	if c.socket.permits("manage_work_pools") != nil {
		create, template = false, nil
	}
	response, _, err := c.server.opts.Caller.Call(ctx, orchv1.WorkPoolService_ConnectWorker_FullMethodName, &orchv1.ConnectWorkerRequest{
		WorkPoolName: c.socket.pool, WorkerName: c.hello.WorkerName, WorkerType: c.hello.WorkerType,
		HeartbeatIntervalSeconds: c.hello.Interval, WorkQueueNames: c.hello.WorkQueueNames,
		CreatePoolIfNotFound: create, DefaultBaseJobTemplate: template,
	})
	connected, ok := response.(*orchv1.ConnectWorkerResponse)
	if err == nil && !ok {
		err = errors.New("stream: not a response to ConnectWorker")
	}
	return connected, err
}

// failed returns the close reason for the error of an action.
func (c *workerChannel) failed(ctx context.Context, action string, err error) closeReason {
	if ctx.Err() != nil {
		return closedByClient
	}
	status := rpc.HTTPError(err).GetStatus()
	switch {
	case status == http.StatusNotFound || status == http.StatusForbidden:
		return channelForbidden
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return channelProtocol
	}
	c.socket.log.WarnContext(ctx, "failed to serve the channel of a worker", "action", action, "error", err)
	return channelTransient
}

// listen reads frames until the worker has gone. It reads until the socket is closed, longer than it is served: a read whose
// context ends cuts the connection, and the worker would not learn why.
func (c *workerChannel) listen(ctx, serving context.Context) {
	for {
		data, end := c.socket.read(ctx)
		if !end.ok() {
			if end != closedByClient {
				c.socket.end(end)
			}
			return
		}
		select {
		case c.frames <- data:
		case <-serving.Done():
			return
		}
	}
}

func (c *workerChannel) ready(ctx context.Context, connected *orchv1.ConnectWorkerResponse) closeReason {
	initial, err := c.snapshot("initial")
	if err != nil {
		return c.failed(ctx, "write a work pool", err)
	}
	ready := workerReady{
		ConsumerID: c.hello.ConsumerID, Version: channelVersion, Interval: c.hello.Interval,
		Accepted: slices.Clone(channelCapabilities), Rejected: []string{}, Queues: []resolvedQueue{}, Snapshot: initial,
	}
	if slices.Contains(c.hello.Capabilities, capabilityRuns) {
		ready.Accepted = append(ready.Accepted, capabilityRuns)
	}
	if c.cleanups > 0 {
		ready.Accepted = append(ready.Accepted, capabilityCleanup)
		ready.MaxCleanupConcurrency = c.cleanups
	}
	for _, capability := range c.hello.Capabilities {
		if !slices.Contains(ready.Accepted, capability) && !slices.Contains(ready.Rejected, capability) {
			ready.Rejected = append(ready.Rejected, capability)
		}
	}
	for _, queue := range connected.GetWorkQueues() {
		ready.Queues = append(ready.Queues, resolvedQueue{queue.GetId(), queue.GetName()})
		c.queues = append(c.queues, queue.GetId())
	}
	return send(ctx, c, "worker.ready.v1", ready)
}

// snapshot is the pool as the worker is to know it, with the next number.
func (c *workerChannel) snapshot(reason string) (snapshot, error) {
	text, err := restjson.Marshal(c.pool)
	c.sequence++
	return snapshot{Sequence: c.sequence, Reason: reason, WorkPool: text}, err
}

func send[P any](ctx context.Context, c *workerChannel, kind string, payload P) closeReason {
	id, err := uuid.NewV7()
	if err != nil {
		return c.failed(ctx, "make the id of a frame", err)
	}
	text, err := json.Marshal(frame[P]{Type: kind, ID: id, SentAt: time.Now().UTC(), Payload: payload})
	if err != nil {
		return c.failed(ctx, "write a frame", err)
	}
	if c.socket.write(ctx, text) != nil {
		return closedByClient
	}
	return closeReason{}
}

func (c *workerChannel) serve(ctx context.Context, changed *subscriber[uuid.UUID], runs *runDelivery, cleanups *cleanupDelivery) closeReason {
	due := time.NewTimer(snapshotDelay) // The pool may have been changed before the channel received changes.
	defer due.Stop()
	for {
		select {
		case <-changed.news:
			if end := changed.closeReason(); !end.ok() {
				return channelTransient
			}
			changed.take()
			due.Reset(snapshotDelay)
		case <-due.C:
			if end := c.refresh(ctx, "work_pool_updated"); !end.ok() {
				return end
			}
		case <-runs.news:
			if end := runs.announced(); !end.ok() {
				return end
			}
		case <-runs.elapsed:
			if end := c.poll(ctx, runs); !end.ok() {
				return end
			}
		case <-cleanups.news:
			if end := cleanups.announced(); !end.ok() {
				return end
			}
		case <-cleanups.elapsed:
			if end := c.cleanUp(ctx, cleanups); !end.ok() {
				return end
			}
		case data := <-c.frames:
			if end := c.received(ctx, data); !end.ok() {
				return end
			}
		case <-ctx.Done():
			return closedByClient
		}
	}
}

// beat records a heartbeat, and makes up for a change that the feed did not deliver.
func (c *workerChannel) beat(ctx context.Context, data []byte) closeReason {
	var f frame[workerHeartbeat]
	if !strict(data, &f) || f.Type != "worker.heartbeat.v1" || f.Payload.Interval < 1 ||
		f.Payload.ConsumerID != c.hello.ConsumerID || f.Payload.WorkerName != c.hello.WorkerName {
		return channelProtocol
	}
	_, _, err := c.server.opts.Caller.Call(ctx, orchv1.WorkPoolService_WorkerHeartbeat_FullMethodName, &orchv1.WorkerHeartbeatRequest{
		WorkPoolName: c.socket.pool, Heartbeat: &orchv1.Heartbeat{Name: f.Payload.WorkerName, HeartbeatIntervalSeconds: &f.Payload.Interval},
	})
	if err != nil {
		if end := c.failed(ctx, "record the heartbeat of a worker", err); end != channelTransient {
			return end
		}
		return channelHeartbeat
	}
	return c.refresh(ctx, "heartbeat_reconciliation")
}

// refresh sends the pool if it is another than the worker knows. A pool that is gone, or was created anew, ends the channel.
func (c *workerChannel) refresh(ctx context.Context, reason string) closeReason {
	response, _, err := c.server.opts.Caller.Call(ctx, orchv1.WorkPoolService_ReadWorkPool_FullMethodName, &orchv1.ReadWorkPoolRequest{Name: c.socket.pool})
	if err != nil {
		return c.failed(ctx, "read a work pool", err)
	}
	pool, ok := response.(*orchv1.WorkPool)
	switch {
	case !ok:
		return channelTransient
	case pool.GetId() != c.pool.GetId():
		return channelForbidden
	case alike(pool, c.pool):
		return closeReason{}
	}
	c.pool = pool
	next, err := c.snapshot(reason)
	if err != nil {
		return c.failed(ctx, "write a work pool", err)
	}
	return send(ctx, c, "work_pool.snapshot.v1", next)
}

// alike tells whether two versions of a pool are the same to its workers.
func alike(a, b *orchv1.WorkPool) bool {
	limits := (a.ConcurrencyLimit == nil) == (b.ConcurrencyLimit == nil) && a.GetConcurrencyLimit() == b.GetConcurrencyLimit()
	return limits && a.GetIsPaused() == b.GetIsPaused() && bytes.Equal(a.GetBaseJobTemplate(), b.GetBaseJobTemplate()) &&
		proto.Equal(a.GetStorageConfiguration(), b.GetStorageConfiguration())
}

// poolOfPath is the name of the pool in the path of a worker's channel; false for other paths.
func poolOfPath(path string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/work_pools/")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(rest, "/workers/connect")
	return name, ok && name != "" && !strings.Contains(name, "/")
}

// feedPools is the source of the feed of changed pools.
func (s *Server) feedPools(ctx context.Context, ready func()) error {
	return feeds.WorkPools(s.opts.Broker).Subscribe(ctx, func(workspace, pool uuid.UUID) {
		s.pools.offer(workspace, pool, message{})
	}, broker.OnReady(ready))
}
