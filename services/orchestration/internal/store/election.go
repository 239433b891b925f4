package store

import (
	"context"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// elections delays reads after an election until the new primary is up to date.
//
// A new primary has every write that a majority acknowledged. But it does not know yet that a majority has them, and a read with
// read concern majority returns the versions that it knows of. So after an election such a read can be older than an
// acknowledged write, until a write of the new term reaches a majority:
//
//	            election                        write of the term on a majority
//	── reads ──────┼──────── reads wait ────────────────────┼── reads ──
//
// The topology of the driver tells of the election. A primary that is cut off, and has not stepped down yet, is not detected.
// Behind a mongos, elections are invisible; nothing waits there.
type elections struct {
	ctx    context.Context // Ends with the store.
	stop   context.CancelFunc
	writes sync.WaitGroup

	mu      sync.Mutex
	confirm func(context.Context) error // Waits for a majority; nil before start.
	primary leadershipTerm
	// confirmed is closed when the primary is up to date; nil when it is.
	confirmed chan struct{}
}

// confirmRetry is the time between attempts to confirm a primary.
const confirmRetry = 100 * time.Millisecond

// leadershipTerm identifies a primary: the same member can be elected again.
type leadershipTerm struct {
	address  string
	election bson.ObjectID
}

func newElections() *elections {
	e := &elections{}
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e
}

// start begins to confirm primaries, the one that was noted before included.
func (e *elections) start(confirm func(context.Context) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.confirm = confirm
	if e.confirmed != nil {
		e.begin()
	}
}

// close ends the writes that confirm a primary.
func (e *elections) close() {
	e.mu.Lock()
	e.stop()
	e.mu.Unlock()
	e.writes.Wait()
}

// observe adds the detection of elections, and the wait, to a client.
func (e *elections) observe(opts *options.ClientOptions) {
	opts.SetServerMonitor(&event.ServerMonitor{TopologyDescriptionChanged: func(changed *event.TopologyDescriptionChangedEvent) {
		for _, server := range changed.NewDescription.Servers {
			if server.Kind == "RSPrimary" {
				e.elected(leadershipTerm{server.Addr.String(), server.ElectionID})
			}
		}
	}})
	monitor := *opts.Monitor
	started := monitor.Started
	monitor.Started = func(ctx context.Context, command *event.CommandStartedEvent) {
		e.wait(ctx, command.Command)
		if started != nil {
			started(ctx, command)
		}
	}
	opts.SetMonitor(&monitor)
}

// elected notes a primary. It does not block: the driver calls it under a lock.
func (e *elections) elected(p leadershipTerm) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.primary == p || e.ctx.Err() != nil {
		return
	}
	e.primary = p
	if e.confirmed == nil {
		e.confirmed = make(chan struct{})
	}
	if e.confirm != nil {
		e.begin()
	}
}

// begin confirms the noted primary in the background. The write begins with the election, so it is ahead of reads that would use
// up the connections. The caller has the lock.
func (e *elections) begin() {
	p, confirm := e.primary, e.confirm
	e.writes.Go(func() { e.settle(p, confirm) })
}

// settle tries the write again until it succeeds, or another primary is elected.
func (e *elections) settle(p leadershipTerm, confirm func(context.Context) error) {
	for {
		err := confirm(e.ctx)
		e.mu.Lock()
		superseded := e.primary != p
		if !superseded && err == nil {
			close(e.confirmed)
			e.confirmed = nil
		}
		e.mu.Unlock()
		if superseded || err == nil {
			return
		}
		select {
		case <-e.ctx.Done():
			return
		case <-time.After(confirmRetry):
		}
	}
}

// wait returns when a command may read: it reads without a majority, or the primary is up to date. A context that ends before fails the
// command.
func (e *elections) wait(ctx context.Context, command bson.Raw) {
	e.mu.Lock()
	confirmed := e.confirmed
	e.mu.Unlock()
	if confirmed == nil {
		return
	}
	if level, _ := command.Lookup("readConcern", "level").StringValueOK(); level != "majority" {
		return
	}
	select {
	case <-confirmed:
	case <-ctx.Done():
	}
}
