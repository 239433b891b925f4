// Package refusals records the clients that the gateway has lately refused because they expect another vocabulary, so that
// the dashboard shows them. The gateways of an installation share their records over a live feed of the broker.
package refusals

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/vocabulary"
)

const (
	// Lifetime is how long a refusal is shown after its last repetition.
	Lifetime = 15 * time.Minute
	// shareEvery is the minimum interval between two shared repetitions of one refusal.
	shareEvery = 30 * time.Second
	// maxClients and maxWorkspaces bound the records; the oldest ones give way.
	maxClients    = 8
	maxWorkspaces = 1000
	// maxText bounds a text that a client chooses, in bytes.
	maxText = 100
	// feed is the broker's live feed of refusals.
	feed = "refusals"
)

// Refusal is a client that was refused.
type Refusal struct {
	// Client is the client's name and version, such as "prefect/3.6.1", or what it sends as its User-Agent.
	Client string `json:"client"`
	// Address is the client's address, empty if unknown.
	Address string `json:"address"`
	// Events is set if the names in the client's events were refused.
	Events bool `json:"events"`
	// Last is the time of the last repetition.
	Last time.Time `json:"-"`
}

// Options are the dependencies of a Log.
type Options struct {
	// Broker shares the refusals; nil keeps them in this process.
	Broker *broker.Conn
	// Vocabulary is the server's.
	Vocabulary vocabulary.Vocabulary
	Clock      clock.Clock
	Log        *slog.Logger
}

// Log records refusals by workspace.
type Log struct {
	opts    Options
	mu      sync.Mutex
	clients map[uuid.UUID][]entry // By workspace; the latest entry is last.
}

type entry struct {
	Refusal
	shared time.Time
}

// New returns an empty log.
func New(opts Options) *Log {
	if opts.Clock == nil {
		opts.Clock = clock.System{}
	}
	return &Log{opts: opts, clients: map[uuid.UUID][]entry{}}
}

// Add records a refusal. It logs and shares the first of several repetitions.
func (l *Log) Add(ctx context.Context, workspace uuid.UUID, r Refusal) {
	r = shortened(r)
	if !l.record(workspace, r, true) {
		return
	}
	l.opts.Log.WarnContext(ctx, "refused a client that expects another vocabulary",
		"client", r.Client, "address", r.Address, "events", r.Events, "workspace", workspace)
	if l.opts.Broker == nil {
		return
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = l.opts.Broker.Live(feed).Publish(workspace, data)
	}
	if err != nil {
		l.opts.Log.DebugContext(ctx, "failed to share a refusal", "error", err)
	}
}

// shortened returns a refusal whose texts are bounded.
func shortened(r Refusal) Refusal {
	r.Client, r.Address = r.Client[:min(len(r.Client), maxText)], r.Address[:min(len(r.Address), maxText)]
	return r
}

// record adds a refusal, or renews its entry. It reports whether a local refusal should be shared.
func (l *Log) record(workspace uuid.UUID, r Refusal, local bool) (publish bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries, found := l.clients[workspace]
	if !found {
		l.makeRoom()
	}
	e := entry{Refusal: r}
	if at := slices.IndexFunc(entries, e.equal); at >= 0 {
		e = entries[at]
		entries = slices.Delete(entries, at, at+1)
	}
	e.Last = l.opts.Clock.Now()
	if publish = local && e.Last.Sub(e.shared) >= shareEvery; publish {
		e.shared = e.Last
	}
	entries = append(entries, e)
	l.clients[workspace] = entries[max(0, len(entries)-maxClients):]
	return publish
}

// equal reports whether two entries are of one client and kind.
func (e entry) equal(o entry) bool {
	return e.Client == o.Client && e.Address == o.Address && e.Events == o.Events
}

// makeRoom removes the workspace whose last refusal is the oldest, if there are too many. The caller holds mu.
func (l *Log) makeRoom() {
	if len(l.clients) < maxWorkspaces {
		return
	}
	var oldest uuid.UUID
	var last time.Time
	for id, entries := range l.clients {
		if at := entries[len(entries)-1].Last; last.IsZero() || at.Before(last) {
			oldest, last = id, at
		}
	}
	delete(l.clients, oldest)
}

// Of returns the refusals of a workspace within Lifetime, the latest first.
func (l *Log) Of(workspace uuid.UUID) []Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	since := l.opts.Clock.Now().Add(-Lifetime)
	var found []Refusal
	for _, e := range slices.Backward(l.clients[workspace]) {
		if e.Last.After(since) {
			found = append(found, e.Refusal)
		}
	}
	if len(found) == 0 {
		delete(l.clients, workspace)
	}
	return found
}

// RefusedEvents reports whether events of this client at this address were refused within Lifetime.
func (l *Log) RefusedEvents(workspace uuid.UUID, client, address string) bool {
	sought := entry{Refusal: shortened(Refusal{Client: client, Address: address, Events: true})}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.clients[workspace], sought.equal)
	return at >= 0 && l.clients[workspace][at].Last.After(l.opts.Clock.Now().Add(-Lifetime))
}

// Run records what other gateways share until ctx ends.
func (l *Log) Run(ctx context.Context) error {
	if l.opts.Broker == nil {
		return nil
	}
	return l.opts.Broker.Live(feed).Subscribe(ctx, func(workspace uuid.UUID, data []byte) {
		var r Refusal
		if json.Unmarshal(data, &r) == nil && cmp.Or(r.Client, r.Address) != "" {
			l.record(workspace, r, false)
		}
	})
}
