package run

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync"
)

// Health is the state of a service. It is safe for concurrent use.
type Health struct {
	mu     sync.Mutex
	phase  Phase
	parts  []*part
	checks []check
	notes  []note
}

// Phase is the position of a group in its life cycle.
type Phase string

// The phases in order.
const (
	New      Phase = "new"
	Starting Phase = "starting"
	Running  Phase = "running"
	Draining Phase = "draining"
	Stopping Phase = "stopping"
	Stopped  Phase = "stopped"
)

// part is a worker in the reports.
type part struct {
	name    string
	err     error // Set after a failure.
	pending bool  // A step of the start that has not succeeded.
}

// errPending is the readiness of a step that has not succeeded.
var errPending = errors.New("in progress")

// check is a readiness check of a prerequisite that may come and go.
type check struct {
	name string
	f    func() error
}

// note describes work that does not affect readiness.
type note struct {
	name string
	f    func() string
}

// Report is the JSON body of a health response.
type Report struct {
	OK     bool   `json:"ok"`
	Phase  Phase  `json:"phase"`
	Checks []Item `json:"checks"`
}

// Item is the state of one worker or check.
type Item struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	// Note describes work in progress that does not affect readiness.
	Note string `json:"note,omitempty"`
}

// Check adds a readiness check. f must return immediately, because every request calls it.
func (h *Health) Check(name string, f func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks = append(h.checks, check{name, f})
}

// Note adds a line to the report of readiness while f returns a text. f must return immediately.
func (h *Health) Note(name string, f func() string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, note{name, f})
}

// Live reports whether all workers run; otherwise the process should be restarted. It ignores the checks: restarting
// clients does not repair a database.
func (h *Health) Live() Report {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.live()
}

func (h *Health) live() Report {
	r := Report{OK: true, Phase: h.phase, Checks: make([]Item, 0, len(h.parts)+len(h.checks))}
	for _, p := range h.parts {
		r.add(p.name, p.err)
	}
	return r
}

func (h *Health) ready() Report {
	r := h.live()
	for i, p := range h.parts {
		if p.pending && p.err == nil {
			r.OK, r.Checks[i] = false, Item{Name: p.name, Error: errPending.Error()}
		}
	}
	return r
}

// Ready reports whether the service should get requests: the group is running, its workers are live and all checks
// pass.
func (h *Health) Ready() Report {
	h.mu.Lock()
	r := h.ready()
	checks, notes := h.checks[:len(h.checks):len(h.checks)], h.notes[:len(h.notes):len(h.notes)]
	h.mu.Unlock()
	if r.Phase != Running {
		r.OK = false
	}
	for _, c := range checks {
		r.add(c.name, c.f())
	}
	for _, n := range notes {
		if text := n.f(); text != "" {
			r.Checks = append(r.Checks, Item{Name: n.name, OK: true, Note: text})
		}
	}
	return r
}

func (r *Report) add(name string, err error) {
	item := Item{Name: name, OK: err == nil}
	if err != nil {
		item.Error = err.Error()
		r.OK = false
	}
	r.Checks = append(r.Checks, item)
}

// LiveHandler serves /health: 200 or 503, with the report as JSON.
func (h *Health) LiveHandler() http.Handler { return handler(h.Live) }

// ReadyHandler serves /ready: 200 or 503, with the report as JSON.
func (h *Health) ReadyHandler() http.Handler { return handler(h.Ready) }

func handler(report func() Report) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r := report()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if !r.OK {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(r) // The client has disconnected.
	})
}

func (h *Health) enter(p Phase) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.phase = p
}

func (h *Health) addPart(name string) *part {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &part{name: name}
	h.parts = append(h.parts, p)
	return p
}

func (h *Health) finish(p *part) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.pending = false
}

func (h *Health) fail(p *part, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.err = err
}
