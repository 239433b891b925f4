package stream

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/feeds"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// maxSubscription bounds a task worker's messages in bytes.
	maxSubscription = 1 << 20
	// ackTimeout bounds the wait for a worker's acknowledgement of a run; the claim lasts longer.
	ackTimeout = feeds.TaskClaim - 5*time.Second
	// settleTimeout bounds the rpc that records the end of a claim or of a worker after its socket has ended.
	settleTimeout = 5 * time.Second
)

// taskWorker is a socket of /task_runs/subscriptions/scheduled.
type taskWorker struct {
	server     *Server
	socket     *socket
	identifier string
	keys       []string
	news       *subscriber[string]
	messages   chan []byte // The worker's messages.
}

// tasksOut dispatches deferred task runs to a task worker, one at a time:
//
//	subscribe ──▶ claim ──▶ run ──▶ {"type":"ack"} ──▶ claim …
//	                │ none           {"type":"quit"} or disconnected: the claim is released
//	                └──▶ wait for a wake-up
func (s *Server) tasksOut(ctx context.Context, k *socket) closeReason {
	violation := func(reason string) closeReason {
		return closeReason{statusProtocolViolation, "Protocol violation: " + reason}
	}
	var first struct {
		Type     string   `json:"type"`
		Keys     []string `json:"keys"`
		ClientID string   `json:"client_id"`
	}
	const expected = "expected 'subscribe' message"
	if end := k.hello(ctx, helloTimeout, &first, statusProtocolViolation, violation(expected).reason); !end.ok() {
		return end
	}
	switch {
	case first.Type != "subscribe":
		return violation(expected)
	case len(first.Keys) == 0:
		return violation("expected 'keys' in subscribe message")
	case first.ClientID == "":
		return violation("expected 'client_id' in subscribe message")
	}
	w := &taskWorker{server: s, socket: k, identifier: first.ClientID, keys: first.Keys, messages: make(chan []byte)}
	w.news = newSubscriber(k.info.Workspace, false, func(key string) bool { return slices.Contains(w.keys, key) })
	defer s.offers.leave(w.news)
	serving, cancel := context.WithCancel(ctx)
	defer cancel()
	k.listening.Go(func() {
		defer cancel()
		w.listen(ctx, serving)
	})
	if s.offers.join(serving, w.news) != nil {
		return brokerAway
	}
	defer w.leave(serving)
	return w.serve(serving, violation("expected 'ack' message"))
}

// listen reads the worker's messages. It reads until the socket is closed, beyond the end of its service: ending a
// read's context would drop the connection without a close frame.
func (w *taskWorker) listen(ctx, serving context.Context) {
	for {
		data, end := w.socket.read(ctx)
		if !end.ok() {
			if end != closedByClient {
				w.socket.end(end)
			}
			return
		}
		select {
		case w.messages <- data:
		case <-serving.Done():
			return
		}
	}
}

func (w *taskWorker) serve(ctx context.Context, violation closeReason) closeReason {
	poll := time.NewTimer(0)
	defer poll.Stop()
	for {
		response, _, err := w.server.opts.Caller.Call(ctx, orchv1.TaskWorkerService_ClaimTaskRun_FullMethodName,
			&orchv1.ClaimTaskRunRequest{Identifier: w.identifier, TaskKeys: w.keys})
		switch {
		case ctx.Err() != nil && err == nil:
			w.settle(ctx, response.(*orchv1.ClaimTaskRunResponse), false)
			return closedByClient
		case ctx.Err() != nil:
			return closedByClient
		case err != nil:
			w.socket.log.WarnContext(ctx, "failed to claim a task run for a task worker", "error", err)
			return storeAway
		}
		if claimed := response.(*orchv1.ClaimTaskRunResponse); claimed.GetTaskRun() != nil {
			if end, more := w.offer(ctx, claimed, violation); !more {
				return end
			}
			continue
		}
		poll.Reset(feeds.TaskPoll)
		w.news.idle.Store(true)
		select {
		case <-w.news.news:
			w.news.idle.Store(false)
			if end := w.news.closeReason(); !end.ok() {
				return end
			}
		case data := <-w.messages:
			if messageType(data) == "quit" {
				return closeReason{}
			}
			return violation // No run awaits an acknowledgement.
		case <-poll.C:
			w.news.idle.Store(false)
		case <-ctx.Done():
			return closedByClient
		}
	}
}

// offer sends a run and waits for the worker's acknowledgement; more is false when the socket must close.
func (w *taskWorker) offer(ctx context.Context, claimed *orchv1.ClaimTaskRunResponse, violation closeReason) (end closeReason, more bool) {
	taken := false
	defer func() { w.settle(ctx, claimed, taken) }()
	text, err := restjson.Marshal(claimed.GetTaskRun())
	if err != nil {
		w.socket.log.ErrorContext(ctx, "failed to encode a task run for a task worker", "task_run", claimed.GetTaskRun().GetId(), "error", err)
		return closeReason{websocket.StatusInternalError, "the task run cannot be written"}, false
	}
	if w.socket.write(ctx, text) != nil {
		return closedByClient, false
	}
	timeout := time.NewTimer(ackTimeout)
	defer timeout.Stop()
	select {
	case data := <-w.messages:
		switch messageType(data) {
		case "ack":
			taken = true
			return closeReason{}, true
		case "quit":
			return closeReason{}, false
		}
		return violation, false
	case <-timeout.C:
		return closeReason{websocket.StatusTryAgainLater, "the task run was not acknowledged in time"}, false
	case <-ctx.Done():
		return closedByClient, false
	}
}

// messageType returns a message's type, empty if it has none.
func messageType(data []byte) string {
	var m struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(data, &m) != nil {
		return ""
	}
	return m.Type
}

// settle ends a claim, even after the socket has ended. If it fails, the claim expires.
func (w *taskWorker) settle(ctx context.Context, claimed *orchv1.ClaimTaskRunResponse, taken bool) {
	if claimed.GetTaskRun() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	_, _, err := w.server.opts.Caller.Call(ctx, orchv1.TaskWorkerService_SettleTaskRun_FullMethodName,
		&orchv1.SettleTaskRunRequest{Id: claimed.GetTaskRun().GetId(), Claim: claimed.GetClaim(), Taken: taken})
	if err != nil {
		w.socket.log.WarnContext(ctx, "failed to end the claim of a task run", "task_run", claimed.GetTaskRun().GetId(), "taken", taken, "error", err)
	}
}

// leave records that the worker disconnected. If it fails, the worker's missing polls show it.
func (w *taskWorker) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	_, _, err := w.server.opts.Caller.Call(ctx, orchv1.TaskWorkerService_LeaveTaskWorker_FullMethodName,
		&orchv1.LeaveTaskWorkerRequest{Identifier: w.identifier})
	if err != nil {
		w.socket.log.DebugContext(ctx, "failed to remove a task worker", "error", err)
	}
}

// feedOffers reads the source of the task key feed. A message wakes one idle worker, because it announces one run.
func (s *Server) feedOffers(ctx context.Context, ready func()) error {
	return feeds.TaskRuns(s.opts.Broker).Subscribe(ctx, func(workspace uuid.UUID, key []byte) {
		s.offers.wakeOne(workspace, string(key))
	}, broker.OnReady(ready))
}
