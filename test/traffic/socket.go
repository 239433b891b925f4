package traffic

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

const (
	// frameWait bounds the time until a recorded frame of the server arrives.
	frameWait = 2 * time.Minute
	// maxFrames bounds the frames of the server that wait to be compared.
	maxFrames = 1000
)

// SocketStep is what happened to one websocket of a recording.
type SocketStep struct {
	// Number identifies the websocket.
	Number int
	// Kind is the kind of the recorded line: ws_open, ws_frame or ws_close.
	Kind string
	// FromServer reports that the server sent the frame, or closed the websocket.
	FromServer bool
	// Protocols are those that the client offered.
	Protocols []string
	// Data is the frame.
	Data json.RawMessage
	// Code and Reason are those of closing.
	Code   int
	Reason string
}

// name names the step in outcomes.
func (s *SocketStep) name() string {
	var frame struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(s.Data, &frame) // A frame without a type has no name.
	direction := "SEND"
	if s.FromServer {
		direction = "RECEIVE"
	}
	switch s.Kind {
	case "ws_open":
		return "OPEN"
	case "ws_close":
		return direction + " close"
	}
	return direction + " " + frame.Type
}

// socket is an open websocket.
type socket struct {
	conn *websocket.Conn
	// frames are those of the server, in order; it is closed at the end of the connection.
	frames chan []byte
	// end is why the connection ended. It is set before frames is closed.
	end error
}

func (s *socket) read(ctx context.Context) {
	defer close(s.frames)
	for {
		_, frame, err := s.conn.Read(ctx)
		if err != nil {
			s.end = err
			return
		}
		select {
		case s.frames <- frame:
		case <-ctx.Done():
			s.end = ctx.Err()
			return
		}
	}
}

// socket does what a client did with a websocket, or compares what the server does with it.
func (r *replay) socket(ctx context.Context, call Call) (Outcome, error) {
	step := call.Socket
	outcome := Outcome{Call: fmt.Sprintf("%s %s %s", r.name, step.name(), anonymous(strings.TrimPrefix(call.Path, "/api"))), Sent: r.now(string(step.Data), call.At)}
	if step.Kind == "ws_open" {
		return outcome, r.open(ctx, call)
	}
	open, ok := r.sockets[step.Number]
	if !ok && step.FromServer && step.Kind == "ws_close" {
		return outcome, nil // The client had closed it.
	}
	if !ok {
		return outcome, fmt.Errorf("%s: websocket %d is not open", outcome.Call, step.Number)
	}
	var found []string
	var err error
	switch {
	case step.FromServer:
		found, outcome.Answered, err = r.receive(ctx, open, step)
	case step.Kind == "ws_close":
		found = surplus(open)
		delete(r.sockets, step.Number)
		_ = open.conn.Close(websocket.StatusCode(step.Code), step.Reason) // It fails if the server answers late: the pace is not compared.
	default:
		found = surplus(open)
		err = open.conn.Write(ctx, websocket.MessageText, []byte(outcome.Sent))
	}
	for _, difference := range found {
		if r.Intended(outcome.Call + " " + difference) {
			outcome.Excused++
		} else {
			outcome.Differences = append(outcome.Differences, difference)
		}
	}
	if err != nil {
		return outcome, fmt.Errorf("%s: %w", outcome.Call, err)
	}
	return outcome, nil
}

// open opens a websocket. The replay closes it if the recording does not.
func (r *replay) open(ctx context.Context, call Call) error {
	address := r.API + r.known.translate(strings.TrimPrefix(call.Path, "/api"))
	conn, response, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: r.Client, Subprotocols: call.Socket.Protocols, HTTPHeader: http.Header{}})
	if response != nil && response.Body != nil {
		_ = response.Body.Close() // The connection has replaced it.
	}
	if err != nil {
		return fmt.Errorf("open websocket: %w", err)
	}
	opened := &socket{conn: conn, frames: make(chan []byte, maxFrames)}
	r.sockets[call.Socket.Number] = opened
	go opened.read(ctx)
	return nil
}

// receive waits for the next frame, or the end, and compares it.
func (r *replay) receive(ctx context.Context, open *socket, step *SocketStep) (differences []string, answered string, err error) {
	timer := time.NewTimer(frameWait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, "", ctx.Err()
	case <-timer.C:
		return []string{"frame: none instead of " + step.name()}, "", nil
	case frame, ok := <-open.frames:
		var ours any
		if ok {
			answered = string(frame)
			if ours, err = parse(frame); err != nil {
				return nil, answered, fmt.Errorf("decode frame: %w", err)
			}
		}
		switch {
		case ok && step.Kind == "ws_close":
			return []string{"frame: one instead of the end"}, answered, nil
		case !ok && step.Kind == "ws_close":
			delete(r.sockets, step.Number)
			return closing(open.end, step), "", nil
		case !ok:
			return []string{"frame: the end instead of one"}, open.end.Error(), nil
		}
		recorded, err := parse(step.Data)
		if err != nil {
			return nil, answered, fmt.Errorf("decode recorded frame: %w", err)
		}
		return r.compare(recorded, ours), answered, nil
	}
}

// closing compares how the server closed a websocket.
func closing(end error, step *SocketStep) (found []string) {
	var closed websocket.CloseError
	if !errors.As(end, &closed) {
		return []string{fmt.Sprintf("close: %v", end)}
	}
	if int(closed.Code) != step.Code {
		found = append(found, fmt.Sprintf("code: %d instead of %d", closed.Code, step.Code))
	}
	if closed.Reason != step.Reason {
		found = append(found, fmt.Sprintf("reason: %q instead of %q", closed.Reason, step.Reason))
	}
	return found
}

// surplus reports frames of the server that the recorded one had not sent by then.
func surplus(open *socket) (found []string) {
	for {
		select {
		case frame, ok := <-open.frames:
			if !ok {
				return append(found, "frame: the end, too early")
			}
			var f struct {
				Type string `json:"type"`
			}
			_ = json.Unmarshal(frame, &f) // A frame without a type has no name.
			found = append(found, "frame: one more: "+f.Type)
		default:
			return found
		}
	}
}
