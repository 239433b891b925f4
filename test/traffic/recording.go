package traffic

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxLine is the length in bytes of the longest line of a recording.
const maxLine = 16 << 20

// Recording is one scenario: the requests of its clients with their responses, in the order of the responses. Of two
// overlapping requests, the one with the first response probably took effect first.
type Recording struct {
	Name  string
	Calls []Call
}

// Call is one request with its response, one event that a client sent through its websocket, or a step of a websocket.
type Call struct {
	// At is the time of the request, End the time of the complete response.
	At, End time.Time
	// Method and Path are the request's; Query has no question mark.
	Method, Path, Query string
	Header              map[string]string
	// Body is empty for a request without one.
	Body json.RawMessage
	// Status, ContentType and Answer are the response of the reference.
	Status      int
	ContentType string
	Answer      json.RawMessage
	// Raced reports that the call only reads during a concurrent change: it may have seen either state.
	Raced bool
	// Event was sent through /events/in; all other fields but the times are then empty.
	Event json.RawMessage
	// Socket is a step of a websocket; all other fields but the times and the path are then empty.
	Socket *SocketStep
}

// line is one line of a recording.
type line struct {
	Kind         string            `json:"kind"`
	Seconds      float64           `json:"t"`  // When the response was complete.
	Milliseconds float64           `json:"ms"` // Its duration.
	Method       string            `json:"method"`
	Path         string            `json:"path"`
	Query        string            `json:"query"`
	Header       map[string]string `json:"req_headers"`
	Request      json.RawMessage   `json:"req"`
	Status       int               `json:"status"`
	AnswerHeader map[string]string `json:"resp_headers"`
	Answer       json.RawMessage   `json:"resp"`
	Direction    string            `json:"dir"`
	Data         json.RawMessage   `json:"data"`
	Socket       int               `json:"ws"`
	Protocols    []string          `json:"protocols"`
	Code         int               `json:"code"`
	Reason       string            `json:"reason"`
}

// Load reads the recordings of a directory, by name.
func Load(dir string) ([]Recording, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("list recordings in %s: %w", dir, err)
	}
	recordings := make([]Recording, 0, len(files))
	for _, file := range files {
		recording, err := read(file)
		if err != nil {
			return nil, fmt.Errorf("read recording %s: %w", file, err)
		}
		recordings = append(recordings, recording)
	}
	return recordings, nil
}

func read(file string) (Recording, error) {
	f, err := os.Open(file)
	if err != nil {
		return Recording{}, err
	}
	defer func() { _ = f.Close() }() // It was only read.
	recording := Recording{Name: strings.TrimSuffix(filepath.Base(file), ".jsonl")}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	var all []line
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return Recording{}, err
		}
		all = append(all, l)
	}
	start, err := origin(all)
	if err != nil {
		return Recording{}, err
	}
	for _, l := range all {
		if call, ok := l.call(start); ok {
			recording.Calls = append(recording.Calls, call)
		}
	}
	slices.SortStableFunc(recording.Calls, func(a, b Call) int { return cmp.Compare(a.End.UnixMicro(), b.End.UnixMicro()) })
	markRaces(recording.Calls)
	return recording, lines.Err()
}

// origin returns when the recorder's clock showed 0. The first resource that a recorded request created says when that was.
func origin(lines []line) (time.Time, error) {
	for _, l := range lines {
		var answer struct {
			Created time.Time `json:"created"`
		}
		if l.Kind != "http" || l.Method != http.MethodPost || l.Status != http.StatusCreated ||
			json.Unmarshal(l.Answer, &answer) != nil || answer.Created.IsZero() {
			continue
		}
		return answer.Created.Add(time.Duration((l.Milliseconds/1000 - l.Seconds) * float64(time.Second))).UTC(), nil
	}
	return time.Time{}, errors.New("no request created a resource, so the times of the recording are unknown")
}

func markRaces(calls []Call) {
	for n := range calls {
		read := &calls[n]
		read.Raced = read.reads() && slices.ContainsFunc(calls, func(other Call) bool {
			return !other.reads() && other.Event == nil && other.Socket == nil && other.At.Before(read.End) && read.At.Before(other.End)
		})
	}
}

// reads reports whether a call changes nothing, so that it may be repeated.
func (c *Call) reads() bool {
	return c.Method == http.MethodGet || slices.ContainsFunc([]string{"/filter", "/count", "/paginate", "/history"},
		func(end string) bool { return strings.HasSuffix(c.Path, end) })
}

// call converts a line. Of websockets, the workers' channel is replayed as it was; of the others, only events that a client sent are calls.
func (l *line) call(start time.Time) (Call, bool) {
	at := start.Add(time.Duration(l.Seconds * float64(time.Second)))
	switch {
	case l.Kind == "http":
		call := Call{
			At: at.Add(-time.Duration(l.Milliseconds * float64(time.Millisecond))), End: at,
			Method: l.Method, Path: l.Path, Query: l.Query, Header: l.Header,
			Status: l.Status, ContentType: l.AnswerHeader["content-type"], Answer: l.Answer,
		}
		if string(l.Request) != "null" {
			call.Body = l.Request
		}
		return call, true
	case l.Kind == "ws_frame" && l.Direction == "c>s" && strings.HasSuffix(l.Path, "/events/in") && isEvent(l.Data):
		return Call{At: at, End: at, Event: l.Data}, true
	case strings.HasPrefix(l.Kind, "ws_") && strings.HasSuffix(l.Path, workerChannel):
		return Call{At: at, End: at, Path: l.Path, Socket: &SocketStep{
			Number: l.Socket, Kind: l.Kind, FromServer: l.Direction == "s>c", Protocols: l.Protocols, Data: l.Data, Code: l.Code, Reason: l.Reason,
		}}, true
	}
	return Call{}, false
}

// workerChannel is the end of the path of a worker's channel.
const workerChannel = "/workers/connect"

// isEvent distinguishes events from handshake messages.
func isEvent(data json.RawMessage) bool {
	var frame struct {
		Event string `json:"event"`
	}
	return json.Unmarshal(data, &frame) == nil && frame.Event != ""
}
