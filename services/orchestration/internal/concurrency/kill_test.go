package concurrency

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// errKilled is the error of a process without connections.
var errKilled = errors.New("the process was killed")

// wire is the connections of a process to the database. Cutting it is what a kill looks like from the database: writes
// that were sent may have happened, others never will.
type wire struct {
	dialer options.ContextDialer

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func (w *wire) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return nil, errKilled
	}
	conn, err := w.dialer.DialContext(ctx, network, address)
	if err == nil {
		w.conns = append(w.conns, conn)
	}
	return conn, err
}

// cutAll closes all connections for good.
func (w *wire) cutAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for _, conn := range w.conns {
		_ = conn.Close() // The process has died; nobody reads the error.
	}
}

// victim is the service in a process that can be killed.
type victim struct {
	*Service
	*wire

	store *store.Store
}

// kill cuts the connections, and closes the client so that later calls fail at once.
func (v *victim) kill(ctx context.Context) {
	v.cutAll()
	_ = v.store.Close(ctx) // It cannot end its sessions.
}

func newVictim(t *testing.T, server *embeddedmongo.Server, c clock.Clock) *victim {
	t.Helper()
	w := &wire{dialer: server.ContextDialer()}
	s, err := store.Open(t.Context(), store.Config{
		URI: server.URI(), Database: "orch", Dialer: w, Clock: c, IDs: id.System(),
		Client: func(o *options.ClientOptions) { o.SetServerSelectionTimeout(5 * time.Second).SetRetryWrites(false) },
	})
	require.NoError(t, err)
	return &victim{New(NewLimits(s, vocabulary.Orch, nil)), w, s}
}

// Sixty-four clients take slots of a process that is killed and replaced all the time, and clients die too. At no moment
// do more of them hold a slot than there are, and what the dead left is back within its lease and the repossessor's period.
func TestSlotsSurviveKillsOfTheServer(t *testing.T) {
	t.Parallel()
	const slots, clients, rounds, kills = 5, 64, 6, 12
	server, err := embeddedmongo.Open(t.TempDir(), embeddedmongo.Options{NoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	now := clock.NewManual(noon)
	first := newVictim(t, server, now)
	require.NoError(t, first.limits.Store().EnsureIndexes(t.Context(), query.Indexes()))
	first.newLimit(t, "a", slots)

	var current atomic.Pointer[victim]
	current.Store(first)
	var killed, asked atomic.Int64
	replace := func() {
		old := current.Load()
		next := newVictim(t, server, now)
		if current.CompareAndSwap(old, next) {
			killed.Add(1)
			next = old
		}
		next.kill(t.Context())
	}
	var holding, most atomic.Int64
	client := func(i int) {
		random := rand.New(rand.NewPCG(uint64(i), 11))
		for range rounds {
			if asked.Add(1)%(clients*rounds/kills) == 0 {
				replace()
			}
			lease := &Lease{ID: uuid.New(), Duration: leaseTime}
			if _, err := current.Load().Acquire(t.Context(), ws, Acquisition{Names: []string{"a"}, Slots: 1, Lease: lease}); err != nil {
				continue // It is full, or the outcome is unknown: the client has no slot.
			}
			n := holding.Add(1)
			for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
			}
			if random.IntN(16) == 0 {
				continue // It died. Its slot stays taken until the lease is over.
			}
			holding.Add(-1)
			for current.Load().Release(t.Context(), ws, lease.ID) != nil { // The server was killed, or there is contention.
			}
		}
	}
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() { client(i) })
	}
	group.Wait()
	require.Positive(t, killed.Load())
	require.Positive(t, most.Load())
	require.LessOrEqual(t, most.Load(), int64(slots), "more holders than slots")

	last := current.Load()
	defer last.kill(t.Context())
	limit := last.stored(t, "a")
	require.GreaterOrEqual(t, limit.GetActiveSlots(), holding.Load(), "what dead clients left is taken")
	require.LessOrEqual(t, limit.GetActiveSlots(), int64(slots))
	require.Equal(t, limit.GetActiveSlots(), slotsOf(limit.GetHolders()))
	now.Advance(leaseTime)
	last.repossessed(t)
	limit = last.stored(t, "a")
	require.Zero(t, limit.GetActiveSlots())
	require.Empty(t, limit.GetHolders())
}
