package standalone_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

const helloOfWorker = `{"type":"worker.hello.v1","id":"01a1fc32-7177-73c0-8466-b424b765c089","sent_at":"2026-11-21T03:42:06.711178Z","payload":{
	"consumer_id":"01a1fc32-7137-7d26-9941-71e46077513b","worker_name":"w","worker_type":"process","heartbeat_interval_seconds":2,
	"supported_channel_versions":["work_pool_worker_channel.v1"],"requested_capabilities":["worker_heartbeat.v1","work_pool_snapshot.v1","other.v1"],
	"work_queue_names":[],"handled_cleanup_kinds":[],"max_cleanup_concurrency":0,"create_pool_if_not_found":true,
	"default_base_job_template":{"job_configuration":{"n":"{{ n }}"},"variables":{"properties":{"n":{}}}},"worker_metadata":null}}`

// workerFrame is what tests look at of a frame from the server.
type workerFrame struct {
	Type    string `json:"type"`
	Payload struct {
		Accepted []string `json:"accepted_capabilities"`
		Rejected []string `json:"rejected_capabilities"`
		Queues   []struct {
			Name string `json:"name"`
		} `json:"resolved_work_queues"`
		Initial  *workerSnapshot `json:"initial_snapshot"`
		Sequence int64           `json:"snapshot_sequence"`
		Reason   string          `json:"reason"`
		WorkPool struct {
			Limit *int64 `json:"concurrency_limit"`
		} `json:"work_pool"`
	} `json:"payload"`
}

type workerSnapshot struct {
	Sequence int64  `json:"snapshot_sequence"`
	Reason   string `json:"reason"`
	WorkPool struct {
		Name     string          `json:"name"`
		Status   string          `json:"status"`
		Template json.RawMessage `json:"base_job_template"`
	} `json:"work_pool"`
}

func receiveFrame(t *testing.T, c *client) workerFrame {
	t.Helper()
	var f workerFrame
	require.NoError(t, json.Unmarshal([]byte(c.receive()), &f))
	return f
}

func TestWorkerChannel(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	c := s.open("/work_pools/p/workers/connect")
	c.send(helloOfWorker)
	ready := receiveFrame(t, c)
	require.Equal(t, "worker.ready.v1", ready.Type)
	require.Equal(t, []string{"worker_heartbeat.v1", "work_pool_snapshot.v1"}, ready.Payload.Accepted)
	require.Equal(t, []string{"other.v1"}, ready.Payload.Rejected)
	require.Equal(t, "default", ready.Payload.Queues[0].Name)
	require.Equal(t, int64(1), ready.Payload.Initial.Sequence)
	require.Equal(t, "initial", ready.Payload.Initial.Reason)
	require.Equal(t, "READY", ready.Payload.Initial.WorkPool.Status, "the hello is a heartbeat")
	require.Contains(t, string(ready.Payload.Initial.WorkPool.Template), "job_configuration")

	c.send(`{"type":"worker.heartbeat.v1","id":"01a1fc32-7177-73c0-8466-b424b765c089","sent_at":"2026-11-21T03:42:06Z","payload":{
		"consumer_id":"01a1fc32-7137-7d26-9941-71e46077513b","worker_name":"w","heartbeat_interval_seconds":2}}`)
	require.Equal(t, http.StatusNoContent, s.ask(http.MethodPatch, "/work_pools/p", `{"concurrency_limit":7}`, nil))
	changed := receiveFrame(t, c)
	require.Equal(t, "work_pool.snapshot.v1", changed.Type)
	require.Equal(t, int64(2), changed.Payload.Sequence)
	require.Equal(t, int64(7), *changed.Payload.WorkPool.Limit)

	require.Equal(t, http.StatusNoContent, s.ask(http.MethodDelete, "/work_pools/p", "", nil))
	code, reason := c.closed()
	require.Equal(t, websocket.StatusPolicyViolation, code)
	require.Equal(t, "authorization_failed", reason)
}

// TestWorkerChannelsEndForAReason holds what is wrong with a first frame against code and reason, which clients look at.
func TestWorkerChannelsEndForAReason(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	for name, c := range map[string]struct {
		path, from, to string
		code           websocket.StatusCode
		reason         string
	}{
		"no JSON":          {"p", helloOfWorker, `nonsense`, websocket.StatusProtocolError, "protocol_error"},
		"another frame":    {"p", `worker.hello.v1`, `worker.heartbeat.v1`, websocket.StatusProtocolError, "protocol_error"},
		"a field too many": {"p", `"worker_metadata":null`, `"worker_metadata":null,"more":1`, websocket.StatusProtocolError, "protocol_error"},
		"no capability":    {"p", `"work_pool_snapshot.v1",`, ``, websocket.StatusProtocolError, "protocol_error"},
		"no interval":      {"p", `_seconds":2`, `_seconds":0`, websocket.StatusProtocolError, "protocol_error"},
		"a bad template":   {"p", `{{ n }}`, `{{ m }}`, websocket.StatusProtocolError, "protocol_error"},
		"another version":  {"p", `work_pool_worker_channel.v1`, `v2`, websocket.StatusPolicyViolation, "unsupported_version"},
		"a reserved name":  {"prefect-x", `"w"`, `"w"`, websocket.StatusPolicyViolation, "authorization_failed"},
		"no pool":          {"none", `_if_not_found":true`, `_if_not_found":false`, websocket.StatusPolicyViolation, "authorization_failed"},
		"no queue":         {"q", `"work_queue_names":[]`, `"work_queue_names":["none"]`, websocket.StatusPolicyViolation, "authorization_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			k := s.open("/work_pools/" + c.path + "/workers/connect")
			k.send(strings.Replace(helloOfWorker, c.from, c.to, 1))
			code, reason := k.closed()
			require.Equal(t, c.code, code, name)
			require.Equal(t, c.reason, reason, name)
		})
	}
	c := s.open("/work_pools/p/workers/connect")
	c.send(helloOfWorker)
	c.receive()
	c.send(strings.NewReplacer("hello", "heartbeat").Replace(helloOfWorker))
	code, reason := c.closed()
	require.Equal(t, websocket.StatusProtocolError, code)
	require.Equal(t, "protocol_error", reason)
}
