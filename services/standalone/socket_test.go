package standalone_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// waitTimeout is how long tests wait for what must come, tick how often they look. It is never waited for in full when all
// is well.
const (
	waitTimeout = 2 * time.Minute
	tick        = 5 * time.Millisecond
)

// client is a websocket client.
type client struct {
	t *testing.T
	*websocket.Conn
}

// dial opens a socket without a handshake. The subprotocol may be empty.
func (s *server) dial(path, subprotocol string, header http.Header) *client {
	s.t.Helper()
	c, status, _, err := s.tryDial(path, subprotocol, header)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusSwitchingProtocols, status)
	require.Equal(s.t, subprotocol, c.Subprotocol())
	return c
}

// tryDial also answers the status and the header that the server gave; 0 when it gave none.
func (s *server) tryDial(path, subprotocol string, header http.Header) (*client, int, http.Header, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	opts := &websocket.DialOptions{HTTPClient: s.http, HTTPHeader: header}
	if subprotocol != "" {
		opts.Subprotocols = []string{subprotocol}
	}
	conn, response, err := websocket.Dial(ctx, strings.Replace(s.api, "http", "ws", 1)+path, opts) //nolint:bodyclose // Dial leaves none open.
	if response == nil {
		return nil, 0, nil, err
	}
	if err != nil {
		return nil, response.StatusCode, response.Header, err
	}
	conn.SetReadLimit(-1)
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	return &client{s.t, conn}, response.StatusCode, response.Header, nil
}

// open opens a socket and authenticates.
func (s *server) open(path string) *client {
	s.t.Helper()
	c := s.dial(path, "orch", nil)
	c.send(`{"type":"auth","token":null}`)
	require.JSONEq(s.t, `{"type":"auth_success"}`, c.receive())
	return c
}

func (c *client) send(text string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), waitTimeout)
	defer cancel()
	require.NoError(c.t, c.Write(ctx, websocket.MessageText, []byte(text)))
}

func (c *client) receive() string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), waitTimeout)
	defer cancel()
	kind, data, err := c.Read(ctx)
	require.NoError(c.t, err)
	require.Equal(c.t, websocket.MessageText, kind)
	return string(data)
}

// closed reads until the server closes, and returns its code and reason.
func (c *client) closed() (websocket.StatusCode, string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), waitTimeout)
	defer cancel()
	for {
		_, _, err := c.Read(ctx)
		if err == nil {
			continue
		}
		closing, ok := errors.AsType[websocket.CloseError](err)
		require.True(c.t, ok, "%v", err)
		return closing.Code, closing.Reason
	}
}

// barrier returns when the server has answered a ping, which needs a reader: none of the client's may run.
func (c *client) barrier() error {
	ctx, cancel := context.WithTimeout(c.t.Context(), waitTimeout)
	defer cancel()
	reading, stop := context.WithCancel(ctx)
	read := make(chan error, 1)
	go func() {
		_, _, err := c.Read(reading) // Pongs are found while reading.
		read <- err
	}()
	err := c.Ping(ctx)
	stop()
	if closed := <-read; err != nil {
		return errors.Join(err, closed)
	}
	return nil
}

func event(id, name string, more ...string) string {
	e := map[string]any{
		"id": id, "event": name, "occurred": time.Now().UTC().Format(time.RFC3339Nano),
		"resource": map[string]string{"orch.resource.id": "thing"}, "related": []any{}, "payload": map[string]any{},
	}
	for i := 0; i < len(more); i += 2 {
		var v any
		if err := json.Unmarshal([]byte(more[i+1]), &v); err != nil {
			panic(err)
		}
		e[more[i]] = v
	}
	text, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return string(text)
}
