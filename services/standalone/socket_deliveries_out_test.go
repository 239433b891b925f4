package standalone_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

type deliveryMessage struct {
	Type     string
	Since    time.Time
	Delivery struct {
		ID      string
		Webhook string `json:"webhook_id"`
		Status  int
		Body    string
		Reason  *string
		Event   *string
	}
	Body []byte `json:"raw_body"`
}

func (c *client) delivery() deliveryMessage {
	c.t.Helper()
	var m deliveryMessage
	require.NoError(c.t, json.Unmarshal([]byte(c.receive()), &m))
	return m
}

// listen opens a socket for deliveries; an empty webhook means all of them.
func (s *server) listen(webhook, since string) *client {
	s.t.Helper()
	c := s.open("/deliveries/out")
	first := map[string]any{"type": "listen"}
	if webhook != "" {
		first["webhook_id"] = webhook
	}
	if since != "" {
		first["since"] = since
	}
	text, err := json.Marshal(first)
	require.NoError(s.t, err)
	c.send(string(text))
	require.Equal(s.t, "listening", c.delivery().Type)
	return c
}

const deskWebhook = `{"name": "%s", "template": "{\"event\": \"%s\", \"resource\": {\"orch.resource.id\": \"r\"}}", "methods": ["POST"]}`

func (s *server) desk(name string) hook {
	s.t.Helper()
	return s.hook(fmt.Sprintf(deskWebhook, name, name))
}

// TestListenersReceiveDeliveries: those of one webhook or of all, from now or from a time on, each once, with the bytes of the body.
func TestListenersReceiveDeliveries(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	a, b := s.desk("a"), s.desk("b")
	before := time.Now().UTC().Add(-time.Minute).Format(time.RFC3339)
	one, all := s.listen(a.ID, ""), s.listen("", "")
	const bytes = "caf\xe9\x00"
	require.Equal(t, http.StatusNoContent, a.send(http.MethodPost, "application/octet-stream", bytes))
	for _, c := range []*client{one, all} {
		m := c.delivery()
		require.Equal(t, "delivery", m.Type)
		require.Equal(t, a.ID, m.Delivery.Webhook)
		require.Equal(t, "a", *m.Delivery.Event)
		require.Equal(t, bytes, string(m.Body))
	}
	require.Equal(t, http.StatusNoContent, b.send(http.MethodPost, "text/plain", "of b"))
	require.Equal(t, http.StatusMethodNotAllowed, a.send(http.MethodPut, "text/plain", "refused"))
	require.Equal(t, "of b", string(all.delivery().Body))
	for _, c := range []*client{one, all} {
		m := c.delivery()
		require.Equal(t, "method", *m.Delivery.Reason)
		require.Empty(t, m.Body, "the log has no bodies of refused requests")
	}

	past := s.listen("", before)
	seen := map[string]int{}
	for range 3 {
		seen[past.delivery().Delivery.ID]++
	}
	require.Equal(t, http.StatusNoContent, a.send(http.MethodPost, "text/plain", "last"))
	require.Equal(t, "last", string(past.delivery().Body), "the past comes once")
	require.Len(t, seen, 3)
	require.Equal(t, "last", string(one.delivery().Body))

	deleted := s.listen(b.ID, "")
	require.Equal(t, http.StatusNoContent, s.ask(http.MethodDelete, "/webhooks/"+b.ID, "", nil))
	require.Equal(t, http.StatusNoContent, a.send(http.MethodPost, "text/plain", "after"))
	require.Equal(t, "last", string(all.delivery().Body))
	require.Equal(t, "after", string(all.delivery().Body), "others go on")
	_ = deleted
}

func TestDeliveriesOutRefusesBadMessages(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	for first, want := range map[string]struct {
		code   websocket.StatusCode
		reason string
	}{
		`nonsense`:                                                  {websocket.StatusProtocolError, "Expected 'listen' message"},
		`{"type":"filter","filter":{}}`:                             {websocket.StatusProtocolError, "Expected 'listen' message"},
		`{"type":"listen","webhook_id":"desk"}`:                     {websocket.StatusProtocolError, "Expected 'listen' message"},
		`{"type":"listen","since":"yesterday"}`:                     {websocket.StatusProtocolError, "Expected 'listen' message"},
		`{"type":"listen","webhook_id":"` + uuid.NewString() + `"}`: {websocket.StatusPolicyViolation, "not found"},
	} {
		t.Run(first, func(t *testing.T) {
			c := s.forTest(t).open("/deliveries/out")
			c.send(first)
			code, text := c.closed()
			require.Equal(t, want.code, code)
			require.Contains(t, text, want.reason)
		})
	}
	talker := s.listen("", "")
	talker.send(`{"more":true}`)
	code, _ := talker.closed()
	require.Equal(t, websocket.StatusPolicyViolation, code)
}

// The server holds one page for a listener that does not read: neither senders nor other listeners wait for it, and it goes on where it was.
func TestAListenerThatNeverReadsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	a := s.desk("a")
	lazy, reader := s.listen("", ""), s.listen(a.ID, "")
	large := strings.Repeat("x", 200<<10)
	const requests = 100 // Far more than the buffers of a connection hold.
	for i := range requests {
		require.Equal(t, http.StatusNoContent, a.send(http.MethodPost, "text/plain", fmt.Sprintf("%d %s", i, large)))
		require.True(t, strings.HasPrefix(string(reader.delivery().Body), fmt.Sprintf("%d x", i)))
	}
	require.True(t, strings.HasPrefix(string(lazy.delivery().Body), "0 x"))
}
