package standalone_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// cleaningHello is the hello of a worker that removes infrastructure.
func cleaningHello(kinds, more string) string {
	hello := strings.Replace(helloOfWorker, `"other.v1"`, `"cleanup_delivery.v1"`, 1)
	hello = strings.Replace(hello, `"handled_cleanup_kinds":[]`, `"handled_cleanup_kinds":[`+kinds+`]`, 1)
	return strings.Replace(hello, `,"max_cleanup_concurrency":0`, more, 1)
}

const teardown = `"cancelling_timeout_teardown.v1"`

// cleanupFrame is a frame about clean-up jobs from the server.
type cleanupFrame struct {
	Type    string `json:"type"`
	Payload struct {
		MessageID string `json:"message_id"`
		Token     string `json:"reservation_token"`
		Count     int    `json:"delivery_count"`
		Kind      string `json:"kind"`
		Target    struct {
			FlowRunID string  `json:"flow_run_id"`
			PID       *string `json:"infrastructure_pid"`
		} `json:"target"`
		Request   string  `json:"request_frame_id"`
		Operation string  `json:"operation"`
		Status    string  `json:"status"`
		Reason    *string `json:"reason"`
		Expires   *string `json:"lease_expires_at"`
	} `json:"payload"`
}

func receiveCleanup(t *testing.T, c *client) cleanupFrame {
	t.Helper()
	var f cleanupFrame
	require.NoError(t, json.Unmarshal([]byte(c.receive()), &f))
	return f
}

// cleanup sends an operation on a job, and returns its result.
func cleanup(t *testing.T, c *client, operation, job, token, more string) cleanupFrame {
	t.Helper()
	id := uuid.NewString()
	c.send(fmt.Sprintf(`{"type":"cleanup.%s.v1","id":%q,"sent_at":"2026-11-21T03:42:06Z","payload":{"message_id":%q,"reservation_token":%q%s}}`,
		operation, id, job, token, more))
	f := receiveCleanup(t, c)
	require.Equal(t, "cleanup.operation_result.v1", f.Type)
	require.Equal(t, []string{id, job, operation}, []string{f.Payload.Request, f.Payload.MessageID, f.Payload.Operation})
	return f
}

// TestInfrastructureOfCancelledRunsIsRemoved: a worker receives the run that did not stop, also after the first worker has gone and the
// server has started again.
func TestInfrastructureOfCancelledRunsIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	settings := []string{"ORCH_CANCELLING_TIMEOUT=1s", "ORCH_CANCELLATION_CLEANUP_EVERY=50ms", "ORCH_CLEANUP_LEASE=5s"}
	s := start(t, dir, settings...)
	c := s.open("/work_pools/p/workers/connect")
	c.send(cleaningHello(teardown, ""))
	ready := receiveFrame(t, c)
	require.Equal(t, []string{"worker_heartbeat.v1", "work_pool_snapshot.v1", "cleanup_delivery.v1"}, ready.Payload.Accepted)
	require.Empty(t, ready.Payload.Rejected)

	deployment := s.create("/deployments/", fmt.Sprintf(`{"name":"d","flow_id":%q,"work_pool_name":"p"}`, s.create("/flows/", `{"name":"f"}`)))
	run := s.create("/deployments/"+deployment+"/create_flow_run", `{}`)
	s.force(run, `{"type":"PENDING"}`)
	s.force(run, `{"type":"RUNNING"}`)
	require.Equal(t, http.StatusNoContent, s.ask(http.MethodPatch, "/flow_runs/"+run, `{"infrastructure_pid":"host:1"}`, nil))
	s.force(run, `{"type":"CANCELLING"}`)

	job := receiveCleanup(t, c)
	require.Equal(t, "cleanup.message.v1", job.Type)
	require.Equal(t, "cancelling_timeout_teardown.v1", job.Payload.Kind)
	require.Equal(t, run, job.Payload.Target.FlowRunID)
	require.Equal(t, "host:1", *job.Payload.Target.PID)
	require.Equal(t, "Cancelled", s.state(run))
	require.Equal(t, "invalid_token", cleanup(t, c, "ack", job.Payload.MessageID, "wrong", "").Payload.Status)
	renewed := cleanup(t, c, "renew", job.Payload.MessageID, job.Payload.Token, "")
	require.Equal(t, "accepted", renewed.Payload.Status)
	require.NotNil(t, renewed.Payload.Expires)

	s.stop()
	s = start(t, dir, settings...)
	c = s.open("/work_pools/p/workers/connect")
	c.send(cleaningHello(teardown, `,"max_cleanup_concurrency":3`))
	require.Equal(t, "worker.ready.v1", receiveFrame(t, c).Type)
	again := receiveCleanup(t, c)
	require.Equal(t, job.Payload.MessageID, again.Payload.MessageID, "a worker that has gone keeps its job until its lease is over")
	require.Greater(t, again.Payload.Count, job.Payload.Count)
	require.Equal(t, "accepted", cleanup(t, c, "ack", again.Payload.MessageID, again.Payload.Token, "").Payload.Status)
	late := cleanup(t, c, "release", again.Payload.MessageID, again.Payload.Token, `,"reason":"late"`)
	require.Equal(t, "not_found", late.Payload.Status)
	require.Equal(t, "message_not_found", *late.Payload.Reason)
}

func TestHellosAboutCleanup(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	for name, test := range map[string]struct {
		hello    string
		accepted bool
		refused  bool
	}{
		"no kinds":                   {hello: cleaningHello("", "")},
		"no concurrency":             {hello: cleaningHello(teardown, `,"max_cleanup_concurrency":0`)},
		"null concurrency":           {hello: cleaningHello(teardown, `,"max_cleanup_concurrency":null`), accepted: true},
		"both kinds":                 {hello: cleaningHello(teardown+`,"pending_claim_teardown.v1"`, ""), accepted: true},
		"an unknown kind":            {hello: cleaningHello(`"x"`, ""), refused: true},
		"a negative concurrency":     {hello: cleaningHello(teardown, `,"max_cleanup_concurrency":-1`), refused: true},
		"kinds without a capability": {hello: strings.Replace(helloOfWorker, `"handled_cleanup_kinds":[]`, `"handled_cleanup_kinds":[`+teardown+`]`, 1), refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.forTest(t)
			c := s.open("/work_pools/p/workers/connect")
			c.send(test.hello)
			if test.refused {
				code, reason := c.closed()
				require.Equal(t, websocket.StatusProtocolError, code)
				require.Equal(t, "protocol_error", reason)
				return
			}
			ready := receiveFrame(t, c)
			require.Equal(t, test.accepted, len(ready.Payload.Accepted) == 3)
			require.Equal(t, !test.accepted, len(ready.Payload.Rejected) == 1)
			if !test.accepted {
				require.Equal(t, "unauthorized", cleanup(t, c, "ack", uuid.NewString(), "t", "").Payload.Status)
			}
		})
	}
}
