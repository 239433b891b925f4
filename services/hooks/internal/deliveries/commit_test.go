package deliveries

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// running runs a recorder in the bubble of a test until its end.
func running(t *testing.T, r *Recorder) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

func TestACommitReturnsWhenTheJournalHasTheEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := &entries{}
		r := New(Options{Journal: journal})
		running(t, r)
		begin := time.Now()
		hook := newHook()
		r.Commit(note(hook, 204, "1"))
		require.Len(t, journal.deliveries(t), 1)
		refused := note(hook, 401, "2")
		refused.Refused = true
		r.Commit(refused)
		require.Len(t, journal.deliveries(t), 2)
		require.Less(t, time.Since(begin), interval, "it waits for no interval")
	})
}

// Entries beyond the budget of a webhook do not wait, and those of another one do.
func TestCommitsHaveABudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal, dropped := &entries{}, &counter{}
		r := New(Options{Journal: journal, Dropped: dropped})
		running(t, r)
		hook := newHook()
		for range maxCommits + 25 {
			r.Commit(note(hook, 204, "x"))
		}
		require.Len(t, journal.deliveries(t), maxCommits)
		r.Commit(note(newHook(), 204, "x"))
		require.Len(t, journal.deliveries(t), maxCommits+1)
		<-time.After(interval)
		synctest.Wait()
		require.Len(t, journal.deliveries(t), maxCommits+26, "the others do not wait")
		require.Zero(t, dropped.n)
		r.Commit(note(hook, 204, "x"))
		require.Len(t, journal.deliveries(t), maxCommits+27, "each interval has a budget")
	})
}

// Entries of large bodies have a budget in bytes.
func TestCommitsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	r := New(Options{Journal: &entries{}})
	hook, large := newHook(), strings.Repeat("x", deliverylog.MaxBody)
	joined := func(hook *orchv1.WebhookDefinition) bool {
		n := note(hook, 204, large)
		n.trim()
		return r.commits.join(&n) != nil
	}
	testkit.FillBound(t, "deliveries to listeners of a workspace in half a second", maxOwnCommitBytes,
		func() bool { return !joined(hook) }, func() int { return r.commits.used[hook.GetWorkspace()].bytes })
	testkit.FillBound(t, "deliveries to listeners whose requests wait for the delivery log", maxCommitBytes,
		func() bool { return !joined(newHook()) }, func() int { return r.commits.group.bytes })
	list := r.commits.group.list
	r.commits.group = nil
	require.Zero(t, r.commits.keep(list))
	require.Greater(t, r.commits.keep(list), len(list)-4, "entries that the journal does not take have no more memory")
}

// An entry that the journal does not take is appended later, and its request does not wait for ever.
func TestCommitsSurviveAnOutageOfTheJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := &entries{err: errors.New("away")}
		r := New(Options{Journal: journal})
		r.Commit(note(newHook(), 204, "nobody appends"))
		running(t, r)
		r.Commit(note(newHook(), 204, "refused"))
		journal.mu.Lock()
		journal.err = nil
		journal.mu.Unlock()
		<-time.After(interval)
		synctest.Wait()
		require.Len(t, journal.deliveries(t), 2)
	})
}

func TestListeners(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(time.Unix(1_000_000, 0))
	l := NewListeners(nil, now, slog.New(slog.DiscardHandler))
	ws, webhook := uuid.New(), uuid.New()
	own := &orchv1.WebhookDefinition{Id: webhook.String(), Workspace: ws.String()}
	sibling := &orchv1.WebhookDefinition{Id: uuid.NewString(), Workspace: ws.String()}
	foreign := &orchv1.WebhookDefinition{Id: uuid.NewString(), Workspace: uuid.NewString()}
	require.True(t, l.Has(foreign), "after a start all count")
	now.Advance(learningTime)
	require.False(t, l.Has(own))
	l.add(ws, webhook)
	require.True(t, l.Has(own))
	require.False(t, l.Has(sibling))
	now.Advance(deliverylog.ListenerTimeout)
	require.False(t, l.Has(own))
	l.add(ws, uuid.Nil)
	require.True(t, l.Has(own))
	require.True(t, l.Has(sibling))
	require.False(t, l.Has(foreign))
	for range 2 * maxListeners {
		l.add(ws, uuid.New())
	}
	require.LessOrEqual(t, len(l.until), maxListeners)
}
