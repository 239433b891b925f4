package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// handshakeTimeout bounds the time until a websocket is open and its caller is authenticated.
const handshakeTimeout = 10 * time.Second

// ErrDenied is wrapped when the server refuses the caller of a websocket; another attempt would be refused too.
var ErrDenied = errors.New("the server refused the websocket")

// Socket is an open websocket whose messages are JSON. Close it.
type Socket struct{ conn *websocket.Conn }

// Socket opens a websocket of the API and authenticates the caller.
func (s *Server) Socket(ctx context.Context, path string) (*Socket, error) {
	opening, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	conn, response, err := websocket.Dial(opening, "ws"+strings.TrimPrefix(s.API, "http")+path, &websocket.DialOptions{ //nolint:bodyclose // Dial leaves none open.
		HTTPClient: s.Client, HTTPHeader: http.Header{"User-Agent": {s.Agent}}, Subprotocols: []string{"orch"},
	})
	switch {
	case err != nil && response != nil && response.StatusCode < http.StatusInternalServerError && response.StatusCode != http.StatusTooManyRequests:
		return nil, fmt.Errorf("%w: %w", ErrDenied, newError(response.StatusCode, nil))
	case err != nil:
		return nil, s.unreachable(err)
	}
	conn.SetReadLimit(answerLimit)
	k := &Socket{conn: conn}
	var token *string
	if s.Key != "" {
		token = &s.Key
	}
	err = k.Write(opening, map[string]any{"type": "auth", "token": token})
	if err == nil {
		_, err = k.Read(opening)
	}
	if err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

// Write sends a message.
func (k *Socket) Write(ctx context.Context, message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	if err := k.conn.Write(ctx, websocket.MessageText, text); err != nil {
		return fmt.Errorf("write to websocket: %w", err)
	}
	return nil
}

// Read returns the next message. The error wraps ErrDenied if the server closed the websocket for what the caller sent or may not do.
func (k *Socket) Read(ctx context.Context) (json.RawMessage, error) {
	_, text, err := k.conn.Read(ctx)
	if closed, ok := errors.AsType[websocket.CloseError](err); ok {
		if closed.Code == websocket.StatusPolicyViolation || closed.Code == websocket.StatusProtocolError {
			return nil, fmt.Errorf("%w: %s", ErrDenied, closed.Reason)
		}
		return nil, fmt.Errorf("read from websocket: closed with %d: %s", closed.Code, closed.Reason)
	}
	if err != nil {
		return nil, fmt.Errorf("read from websocket: %w", err)
	}
	return text, nil
}

// Close closes the websocket at once.
func (k *Socket) Close() { _ = k.conn.CloseNow() }
