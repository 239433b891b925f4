package standalone_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestLogsOut(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	bad := s.open("/logs/out")
	bad.send(`{"type":"filter","filter":{"levl":{"ge_":1}}}`)
	code, reason := bad.closed()
	require.Equal(t, websocket.StatusProtocolError, code)
	require.Contains(t, reason, "levl")

	run := uuid.NewString()
	c := s.open("/logs/out")
	c.send(`{"type":"filter","filter":{"level":{"ge_":30},"flow_run_id":{"any_":["` + run + `"]}}}`)
	got := make(chan string, 1)
	go func() { got <- c.receive() }()
	write := func(level, message, run string) {
		require.Equal(t, http.StatusCreated, s.ask(http.MethodPost, "/logs/", `[{"name":"n","level":`+level+`,"message":"`+message+
			`","timestamp":"2026-01-01T00:00:00Z","flow_run_id":"`+run+`"}]`, nil))
	}
	var text string
	require.Eventually(t, func() bool { // Nothing tells when the subscription has begun, and there is no past.
		write("20", "quiet", run)
		write("40", "other", uuid.NewString())
		write("30", "loud", run)
		select {
		case text = <-got:
			return true
		default:
			return false
		}
	}, waitTimeout, tick)
	var m struct {
		Type string
		Log  struct{ Message, FlowRunID string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &m))
	require.Equal(t, "log", m.Type)
	require.Equal(t, "loud", m.Log.Message)
}
