package standalone_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// count is how many events of a name are stored.
func (s *server) count(name string) int {
	var page struct{ Total int }
	require.Equal(s.t, 200, s.ask(http.MethodPost, "/events/filter", `{"filter": {"event": {"name": ["`+name+`"]}}}`, &page))
	return page.Total
}

func labels(n int) string {
	var b strings.Builder
	b.WriteString(`{"orch.resource.id":"thing"`)
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, `,"l%d":"v"`, i)
	}
	return b.String() + "}"
}

func related(n int) string {
	one := `{"orch.resource.id":"r","orch.resource.role":"friend"}`
	return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]"
}

// TestEventsInRefusesWhatPostRefuses: each invalid event closes its socket with a code and a reason, and POST refuses
// it too. Earlier events and other clients are not affected.
func TestEventsInRefusesWhatPostRefuses(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	bystander := s.open("/events/in")
	for i, c := range []struct {
		name, event string
		code        websocket.StatusCode
		reason      string
	}{
		{"no JSON", `nonsense`, 1007, "JSON"},
		{"a list", `[]`, 1007, ""},
		{"no id", `{"event":"a","occurred":"2026-01-01T00:00:00Z","resource":{"orch.resource.id":"x"}}`, 1007, "id"},
		{"no resource id", event(uuid.NewString(), "a", "resource", `{"a":"b"}`), 1007, "orch.resource.id"},
		{"501 labels", event(uuid.NewString(), "a", "resource", labels(501)), 1007, "500"},
		{"101 related", event(uuid.NewString(), "a", "related", related(101)), 1007, "100"},
		{"related without role", event(uuid.NewString(), "a", "related", `[{"orch.resource.id":"x"}]`), 1007, "orch.resource.role"},
		{"a name of 1,025 characters", event(uuid.NewString(), strings.Repeat("é", 1025)), 1007, "1024"},
		{"a name of the audit", event(uuid.NewString(), "orch-cloud.workspace-access.created"), 1007, "orch-cloud."},
		{"a resource of the audit", event(uuid.NewString(), "a", "resource", `{"orch.resource.id":"prefect-cloud.user.1"}`), 1007, "orch-cloud."},
		{"1.6 MB", event(uuid.NewString(), "a", "payload", `{"a":"`+strings.Repeat("x", 1_600_000)+`"}`), 1009, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := fmt.Sprint("before.", i)
			k := s.open("/events/in")
			k.send(event(uuid.NewString(), name))
			k.send(c.event)
			code, reason := k.closed()
			require.Equal(t, c.code, code, reason)
			require.Contains(t, reason, c.reason)
			require.GreaterOrEqual(t, s.ask(http.MethodPost, "/events", "["+c.event+"]", nil), 400)
			require.Eventually(t, func() bool { return s.count(name) == 1 }, waitTimeout, tick)
		})
	}
	binary := s.open("/events/in")
	require.NoError(t, binary.Write(t.Context(), websocket.MessageBinary, []byte(event(uuid.NewString(), "a"))))
	code, _ := binary.closed()
	require.Equal(t, websocket.StatusUnsupportedData, code)

	largest := s.open("/events/in")
	largest.send(event(uuid.NewString(), "largest", "resource", labels(500), "related", related(100)))
	largest.send(event(uuid.NewString(), "largest", "payload", `{"a":"`+strings.Repeat("x", 1_400_000)+`"}`))
	require.NoError(t, largest.barrier())
	bystander.send(event(uuid.NewString(), "bystander"))
	require.NoError(t, bystander.barrier())
	require.Eventually(t, func() bool { return s.count("largest") == 2 && s.count("bystander") == 1 }, waitTimeout, tick)
}

// TestClosingFlushes: a client that closes in good order has lost nothing, without any ping.
func TestClosingFlushes(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	k := s.open("/events/in")
	const events = 1000
	for range events {
		k.send(event(uuid.NewString(), "closed"))
	}
	require.NoError(t, k.Close(websocket.StatusNormalClosure, ""))
	require.Eventually(t, func() bool { return s.count("closed") == events }, waitTimeout, tick)
}
