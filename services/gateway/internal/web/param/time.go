package param

import (
	"strconv"
	"strings"
	"time"
)

// Window is a range of time.
type Window struct {
	From, To time.Time
	// Open reports that the URL has no end: the window ends now, and the page may stay live.
	Open bool
	// Text is the value of from as the URL has it, such as "-24h".
	Text string
}

// Length returns the window's duration.
func (w Window) Length() time.Duration { return w.To.Sub(w.From) }

const defaultFrom = "-24h"

// The range of times that the store and JSON can hold.
var (
	earliest = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// Within returns the nearest time that the API takes.
func Within(t time.Time) time.Time {
	switch {
	case t.Before(earliest):
		return earliest
	case t.After(latest):
		return latest
	}
	return t
}

// longest is the longest window. Charts divide a window into durations, which hold less than 300 years.
const longest = 100 * 366 * 24 * time.Hour

const expectedTime = "a time such as 2030-01-31T12:00:00Z, or an offset such as -24h or -7d"

// Window returns the parameters from and to. The end defaults to now and the start to 24 hours before now.
func (r *Reader) Window() Window { return r.WindowFrom(defaultFrom) }

// WindowFrom is Window with another default start.
func (r *Reader) WindowFrom(otherwise string) Window {
	w := Window{Text: r.values.Get("from"), To: r.now, Open: true}
	if w.Text == "" {
		w.Text = otherwise
	}
	var ok bool
	if w.From, ok = r.parse(w.Text); !ok {
		r.fail("from", cut(w.Text), expectedTime)
		return w
	}
	if text := r.values.Get("to"); text != "" {
		if w.To, ok = r.parse(text); !ok {
			r.fail("to", cut(text), expectedTime)
			return w
		}
		w.Open = false
	}
	if w.To.Sub(w.From) > longest {
		r.fail("from", cut(w.Text), "at most 100 years before the end of the window")
	}
	if !w.From.Before(w.To) {
		r.fail("from", cut(w.Text), "before the end of the window")
	}
	return w
}

// Time returns a time, the zero time without one.
func (r *Reader) Time(name string) time.Time {
	text := r.values.Get(name)
	if text == "" {
		return time.Time{}
	}
	t, ok := r.parse(text)
	if !ok {
		r.fail(name, cut(text), expectedTime)
	}
	return t
}

// AsOf returns the parameter at, which shows a page as it was; the zero time means now. It is not in the future.
func (r *Reader) AsOf() time.Time {
	at := r.Time("at")
	if at.After(r.now) {
		r.fail("at", cut(r.values.Get("at")), "a time that is not in the future")
	}
	return at
}

func (r *Reader) parse(text string) (time.Time, bool) {
	if ago, ok := offset(text); ok {
		return r.now.Add(ago), true
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		t, err := time.Parse(layout, text)
		if err != nil && strings.Contains(text, " ") { // A plus sign that the browser did not escape.
			t, err = time.Parse(layout, strings.Replace(text, " ", "+", 1))
		}
		if err == nil {
			return t.UTC(), !t.Before(earliest) && !t.After(latest)
		}
	}
	return time.Time{}, false
}

// offset parses "-24h", "-90m", "-7d" and "+1h": a number of seconds, minutes, hours, days or weeks, at most ten years.
func offset(text string) (time.Duration, bool) {
	if len(text) < 3 || text[0] != '-' && text[0] != '+' {
		return 0, false
	}
	unit, ok := map[byte]time.Duration{
		's': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour,
	}[text[len(text)-1]]
	n, err := strconv.ParseUint(text[1:len(text)-1], 10, 32)
	const farthest = 3660 * 24 * time.Hour
	if !ok || err != nil || n > uint64(farthest/unit) {
		return 0, false
	}
	d := time.Duration(n) * unit
	if text[0] == '-' {
		d = -d
	}
	return d, true
}

// Zone returns the parameter tz; absent means UTC.
func (r *Reader) Zone() *time.Location {
	name := r.values.Get("tz")
	if name == "" {
		return time.UTC
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" || len(name) > 64 {
		r.fail("tz", cut(name), "an IANA time zone such as Europe/Vienna")
		return time.UTC
	}
	return zone
}

// Position is where the next page of a list begins: the time of the last row, and the number of rows with exactly this
// time that earlier pages have shown.
type Position struct {
	Before time.Time
	Skip   int
}

// First reports whether the page is the first one.
func (p Position) First() bool { return p.Before.IsZero() }

// String formats the position for the parameter older.
func (p Position) String() string {
	return p.Before.UTC().Format(time.RFC3339Nano) + "_" + strconv.Itoa(p.Skip)
}

// Older returns the parameter older; absent means the first page.
func (r *Reader) Older() Position {
	text := r.values.Get("older")
	if text == "" {
		return Position{}
	}
	before, skip, _ := strings.Cut(text, "_")
	at, err := time.Parse(time.RFC3339Nano, before)
	n, numeric := strconv.ParseUint(skip, 10, 31)
	if err != nil || numeric != nil || at.Before(earliest) || at.After(latest) {
		r.fail("older", cut(text), "a position that a link of this page gave")
		return Position{}
	}
	return Position{Before: at.UTC(), Skip: int(n)}
}

// After returns the position behind the rows of a page, given their times in descending order.
func (p Position) After(times []time.Time) Position {
	if len(times) == 0 {
		return p
	}
	last := times[len(times)-1]
	next := Position{Before: last}
	for i := len(times) - 1; i >= 0 && times[i].Equal(last); i-- {
		next.Skip++
	}
	if next.Skip == len(times) && p.Before.Equal(last) {
		next.Skip += p.Skip
	}
	return next
}
