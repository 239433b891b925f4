package traffic

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// settle bounds the time until a response equals the recorded one: data from events is stored a little later.
	settle = time.Minute
	// again is the polling interval.
	again = 50 * time.Millisecond
)

// Outcome is the result of one call.
type Outcome struct {
	// Call names it: "k_extras POST /flow_runs/{id}/set_state".
	Call string
	// Sent is the request, with the ids and times of this run.
	Sent string
	// Answered is the status with the body of the response.
	Answered string
	// Absent reports that the server has no such route.
	Absent bool
	// Follows reports that the call depends on a call of an absent route: it is not compared.
	Follows bool
	// Raced reports that the recorded response may show the state before or after a change, and that the new one
	// differs.
	Raced bool
	// Repeated reports that the call was skipped: the reference was overloaded, and the client repeated it.
	Repeated bool
	// Differences are the unintended differences from the recorded response.
	Differences []string
	// Excused is the number of the intended ones.
	Excused int
}

// Player replays recordings against a server.
type Player struct {
	// API is the base address of the server's API.
	API string
	// Client sends the requests.
	Client *http.Client
	// Pace is how many times slower than recorded the calls are; 0 is the recorded pace.
	Pace float64
	// Calendar keeps the dates of the recording, and compares those that lie months ahead.
	Calendar bool
	// Intended reports whether a difference, prefixed with the name of its call, is intended.
	Intended func(difference string) bool
}

// Replay replays a recording at its own pace and returns an outcome for each call. A call is due at the time of the recording, because
// bodies hold times, and as long after the previous response as then: a slow server shortens no pause. An error means that the server
// did not respond.
func (p *Player) Replay(ctx context.Context, recording Recording) ([]Outcome, error) {
	if len(recording.Calls) == 0 {
		return nil, nil
	}
	began, now := recording.Calls[0].At, time.Now()
	run := &replay{
		Player: p, name: recording.Name, known: newIdentities(), later: now.Sub(began).Truncate(time.Microsecond), sockets: map[int]*socket{},
	}
	if p.Calendar {
		run.later = cycles(now.Sub(began))
		run.calendarFrom = began.Add(monthsAhead)
	}
	defer run.close()
	outcomes := make([]Outcome, 0, len(recording.Calls))
	previous := began
	for _, call := range recording.Calls {
		due := time.NewTimer(max(time.Until(now.Add(p.slowed(call.At.Sub(began)))), p.slowed(call.At.Sub(previous))))
		if call.End.After(previous) {
			previous = call.End
		}
		select {
		case <-due.C:
		case <-ctx.Done():
			due.Stop()
			return outcomes, fmt.Errorf("replay %s: %w", recording.Name, ctx.Err())
		}
		outcome, err := run.call(ctx, call)
		if err != nil {
			return outcomes, fmt.Errorf("replay %s: %w", recording.Name, err)
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

// slowed is a duration of the recording in the replay.
func (p *Player) slowed(recorded time.Duration) time.Duration {
	if p.Pace == 0 {
		return recorded
	}
	return time.Duration(p.Pace * float64(recorded))
}

// replay is the replay of one recording.
type replay struct {
	*Player
	name  string
	known *identities
	later time.Duration // From the recording to this run.
	// lacking reports that a call of an absent route would have changed something.
	lacking bool
	// calendarFrom is the time of the recording from which on times must be as recorded. The zero time means that none must.
	calendarFrom time.Time
	// sockets are the open websockets by their numbers.
	sockets map[int]*socket
}

// close closes the websockets that the recording left open.
func (r *replay) close() {
	for _, open := range r.sockets {
		_ = open.conn.CloseNow() // It failed before.
	}
}

// now returns a text that was recorded at a time, with the ids and times of this run. A time that was to come is as far ahead as it was
// then, also when the replay lags: what the server has made meanwhile lies before it. Times of the past keep their distances.
func (r *replay) now(text string, recorded time.Time) string {
	lag := time.Since(recorded).Truncate(time.Microsecond)
	return shiftEach(r.known.translate(text), func(at time.Time) time.Duration {
		if r.calendarFrom.IsZero() && at.After(recorded) {
			return max(r.later, lag)
		}
		return r.later
	})
}

func (r *replay) call(ctx context.Context, call Call) (Outcome, error) {
	if call.Socket != nil {
		return r.socket(ctx, call)
	}
	if call.Event != nil {
		call = Call{
			At: call.At, Method: http.MethodPost, Path: "/api/events", Status: http.StatusNoContent,
			Header: map[string]string{"content-type": "application/json"},
			Body:   slices.Concat([]byte{'['}, call.Event, []byte{']'}),
		}
	}
	outcome := Outcome{
		Call: fmt.Sprintf("%s %s %s", r.name, call.Method, anonymous(strings.TrimPrefix(call.Path, "/api"))),
		Sent: r.now(string(call.Body), call.At),
	}
	if call.Status >= http.StatusInternalServerError {
		outcome.Repeated = true
		return outcome, nil
	}
	until := time.Now().Add(settle)
	known := r.known.learned()
	for {
		answer, err := r.send(ctx, call, outcome.Sent)
		if err != nil {
			return outcome, err
		}
		outcome.Answered = fmt.Sprintf("%d %s", answer.status, answer.body)
		if answer.status == http.StatusServiceUnavailable && time.Now().Before(until) {
			if err := pause(ctx); err != nil { // As the client does.
				return outcome, err
			}
			continue
		}
		if outcome.Absent = answer.status == http.StatusNotFound && string(answer.body) == `{"detail":"Not Found"}` && call.Status != http.StatusNotFound; outcome.Absent {
			r.lacking = r.lacking || !call.reads()
			return outcome, nil
		}
		if outcome.Follows = r.lacking && answer.status == http.StatusNotFound && call.Status < http.StatusMultipleChoices; outcome.Follows {
			return outcome, nil
		}
		outcome.Differences, err = r.differences(call, answer)
		if err == nil && answer.status == http.StatusNotFound {
			err = r.register(ctx, call)
		}
		if err != nil {
			return outcome, fmt.Errorf("%s: %w", outcome.Call, err)
		}
		all := len(outcome.Differences)
		outcome.Differences = slices.DeleteFunc(outcome.Differences, func(difference string) bool {
			return r.Intended(outcome.Call + " " + difference)
		})
		outcome.Excused = all - len(outcome.Differences)
		if outcome.Raced = call.Raced && len(outcome.Differences) > 0; outcome.Raced {
			r.known.restore(known)
			return outcome, nil
		}
		if len(outcome.Differences) == 0 || !call.reads() || time.Now().After(until) {
			return outcome, nil
		}
		r.known.restore(known)
		known = r.known.learned()
		if err := pause(ctx); err != nil {
			return outcome, err
		}
	}
}

// pause waits before a call is repeated.
func pause(ctx context.Context) error {
	select {
	case <-time.After(again):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type answer struct {
	status      int
	contentType string
	body        []byte
}

func (r *replay) send(ctx context.Context, call Call, body string) (answer, error) {
	target := r.API + r.known.translate(strings.TrimPrefix(call.Path, "/api"))
	if call.Query != "" {
		values, err := url.ParseQuery(r.now(call.Query, call.At))
		if err != nil {
			return answer{}, fmt.Errorf("parse query %q: %w", call.Query, err)
		}
		target += "?" + values.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, call.Method, target, strings.NewReader(body))
	if err != nil {
		return answer{}, fmt.Errorf("create request: %w", err)
	}
	for name, value := range call.Header {
		if !strings.EqualFold(name, "accept-encoding") { // The transport sets its own.
			request.Header.Set(name, value)
		}
	}
	response, err := r.Client.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("call server: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // It was only read.
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("read response: %w", err)
	}
	return answer{response.StatusCode, response.Header.Get("Content-Type"), text}, nil
}

// differences compares a response with the recorded one.
func (r *replay) differences(call Call, got answer) ([]string, error) {
	var found []string
	if got.status != call.Status {
		found = append(found, fmt.Sprintf("status: %d instead of %d", got.status, call.Status))
		if got.status >= http.StatusMultipleChoices || call.Status >= http.StatusMultipleChoices {
			return found, nil
		}
	}
	if got.contentType != call.ContentType {
		found = append(found, fmt.Sprintf("content type: %q instead of %q", got.contentType, call.ContentType))
	}
	if bytes.Contains(call.Answer, []byte(`"__truncated__"`)) {
		return found, nil // The recorder truncated it.
	}
	recorded, err := parse(call.Answer)
	if err != nil {
		return nil, fmt.Errorf("decode recorded response: %w", err)
	}
	var ours any
	switch {
	case len(got.body) == 0:
	default:
		// The recorder stored JSON of any content type as JSON, other text as text.
		if ours, err = parse(got.body); err != nil {
			ours = string(got.body)
		}
	}
	return append(found, r.compare(recorded, ours)...), nil
}

// compare lists the differences between what was recorded and what is there now, and learns ids.
func (r *replay) compare(recorded, ours any) []string {
	c := &comparison{known: r.known, calendarFrom: r.calendarFrom, later: r.later}
	c.value("", recorded, ours)
	return c.found
}

func parse(text []byte) (value any, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}
