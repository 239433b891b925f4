// Package storetest is the conformance suite of databases under the store: the embedded server, MongoDB, and others
// that speak its protocol. A bug found on one becomes a test here, for all.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Open returns an empty store with all indexes; it is closed when the test ends.
type Open func(t *testing.T) *store.Store

// Run runs all tests, each on its own store.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(t *testing.T, s *store.Store)
	}{
		{"insertStampsAndRefusesDuplicates", insertStampsAndRefusesDuplicates},
		{"mutateLosesNoUpdate", mutateLosesNoUpdate},
		{"whatIsRememberedIsWhatIsStored", whatIsRememberedIsWhatIsStored},
		{"idsOfDeletedDocumentsStartOtherVersions", idsOfDeletedDocumentsStartOtherVersions},
		{"documentsWithoutATokenChange", documentsWithoutATokenChange},
		{"decisionsOwnErrorsAndNoChange", decisionsOwnErrorsAndNoChange},
		{"effectsStayUntilTheyAreDone", effectsStayUntilTheyAreDone},
		{"failuresAreDueAgainInTheirOrder", failuresAreDueAgainInTheirOrder},
		{"effectsOfOneIdAreRefused", effectsOfOneIdAreRefused},
		{"deletedLeavesItsWorkspaceAtOnce", deletedLeavesItsWorkspaceAtOnce},
		{"claimRefusesAnotherVocabulary", claimRefusesAnotherVocabulary},
		{"claimDecides", claimDecides},
		{"insertAllTellsWhatIsTaken", insertAllTellsWhatIsTaken},
		{"replaceAllTellsWhetherItLost", replaceAllTellsWhetherItLost},
		{"changeAllNamesWhatItLost", changeAllNamesWhatItLost},
		{"chosenIDsAreOfTheirWorkspace", chosenIDsAreOfTheirWorkspace},
		{"countsIncludeEarlierWrites", countsIncludeEarlierWrites},
		{"countsStopAtTheirLimit", countsStopAtTheirLimit},
		{"refusedDocumentsAreNamed", refusedDocumentsAreNamed},
		{"scansLeaveOutUndecodableDocuments", scansLeaveOutUndecodableDocuments},
		{"readsEndAtTheirSize", readsEndAtTheirSize},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, open(t))
		})
	}
}

func flows(s *store.Store, opts ...store.Option) *store.Collection[*orchv1.Flow] {
	return store.NewCollection(s, query.Flow, &orchv1.Flow{}, opts...)
}

func insertStampsAndRefusesDuplicates(t *testing.T, s *store.Store) {
	t.Helper()
	c, ws := flows(s), uuid.New()
	flow := &orchv1.Flow{Id: uuid.NewString(), Name: "etl", Labels: &orchv1.Labels{}}
	require.NoError(t, c.Insert(t.Context(), ws, flow))
	require.NotNil(t, flow.Created)
	read, err := c.Get(t.Context(), ws, uuid.MustParse(flow.GetId()))
	require.NoError(t, err)
	require.True(t, proto.Equal(flow, read), "%v is not %v", read, flow)

	again := &orchv1.Flow{Id: uuid.NewString(), Name: "etl"}
	require.ErrorIs(t, c.Insert(t.Context(), ws, again), store.ErrDuplicate)
	_, err = c.Get(t.Context(), ws, uuid.MustParse(again.GetId()))
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = c.Get(t.Context(), uuid.New(), uuid.MustParse(flow.GetId()))
	require.ErrorIs(t, err, store.ErrNotFound, "another workspace does not see it")
}

func mutateLosesNoUpdate(t *testing.T, s *store.Store) {
	t.Helper()
	c, ws := flows(s), uuid.New()
	key := uuid.New()
	require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: key.String(), Name: "etl"}))
	const writers, each = 8, 10
	var group sync.WaitGroup
	var mu sync.Mutex
	written, revisions := 0, map[int64]bool{}
	for w := range writers {
		group.Go(func() {
			for i := range each {
				var made int64
				_, err := c.Mutate(t.Context(), ws, key, func(current *orchv1.Flow, revision int64) (*store.Change[*orchv1.Flow], error) {
					made = revision
					next := proto.Clone(current).(*orchv1.Flow)
					next.Tags = append(next.Tags, fmt.Sprintf("%d.%d", w, i))
					return &store.Change[*orchv1.Flow]{Message: next}, nil
				})
				if errors.Is(err, store.ErrContention) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				written++
				revisions[made] = true
				mu.Unlock()
			}
		})
	}
	group.Wait()
	read, revision, err := store.GetRevision(t.Context(), c, ws, key)
	require.NoError(t, err)
	require.Len(t, read.GetTags(), written, "every change that was made is there")
	require.Equal(t, int64(written+1), revision, "revisions have no gap")
	require.Len(t, revisions, written, "each has one winner")
}

func decisionsOwnErrorsAndNoChange(t *testing.T, s *store.Store) {
	t.Helper()
	c, ws, key := flows(s), uuid.New(), uuid.New()
	require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: key.String(), Name: "etl"}))
	no := errors.New("no")
	_, err := c.Mutate(t.Context(), ws, key, func(*orchv1.Flow, int64) (*store.Change[*orchv1.Flow], error) { return nil, no })
	require.ErrorIs(t, err, no)
	_, err = c.Mutate(t.Context(), ws, key, func(*orchv1.Flow, int64) (*store.Change[*orchv1.Flow], error) { return nil, nil })
	require.NoError(t, err)
	_, revision, err := store.GetRevision(t.Context(), c, ws, key)
	require.NoError(t, err)
	require.Equal(t, int64(1), revision)
	_, err = c.Mutate(t.Context(), ws, uuid.New(), func(*orchv1.Flow, int64) (*store.Change[*orchv1.Flow], error) { return nil, nil })
	require.ErrorIs(t, err, store.ErrNotFound)
}

// woken is an outbox that receives the ids of the documents whose writes had effects, and executes none.
type woken chan uuid.UUID

func (w woken) Wake(_ query.Collection, _, id uuid.UUID) bool {
	w <- id
	return true
}

func (woken) Settle(context.Context, query.Collection, uuid.UUID) error { return nil }

func effectsStayUntilTheyAreDone(t *testing.T, s *store.Store) {
	t.Helper()
	woken := make(woken, 8)
	s = s.WithRelay(woken)
	c, ws, key := flows(s), uuid.New(), uuid.New()
	effect := func(kind string) store.Effect {
		return store.Effect{ID: uuid.New(), At: s.Now(), Kind: kind, Body: []byte(kind)}
	}
	require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: key.String(), Name: "etl"}, effect("one")))
	require.Equal(t, key, <-woken)
	_, err := c.Mutate(t.Context(), ws, key, func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
		next := proto.Clone(current).(*orchv1.Flow)
		next.Tags = []string{"t"}
		return &store.Change[*orchv1.Flow]{Message: next, Effects: []store.Effect{effect("two"), effect("three")}}, nil
	})
	require.NoError(t, err)
	pending, err := s.Pending(t.Context(), query.Flow, store.DocumentKey{ID: key})
	require.NoError(t, err)
	require.Len(t, pending, 3)
	for i, kind := range []string{"one", "two", "three"} {
		require.Equal(t, kind, pending[i].Kind, "in the order of the writes")
		require.Equal(t, kind, string(pending[i].Body))
	}
	document := store.DocumentKey{Workspace: ws, ID: key}
	due, err := s.Due(t.Context(), query.Flow, s.Now().Add(time.Second), 10)
	require.NoError(t, err)
	require.Equal(t, []store.DueOutbox{{DocumentKey: document, Oldest: pending[0].At.Truncate(time.Microsecond)}}, due)
	found, err := store.WithPending(t.Context(), c, ws, pending[2].ID)
	require.NoError(t, err)
	require.Equal(t, key.String(), found.GetId())
	for _, absent := range []struct{ ws, effect uuid.UUID }{{uuid.New(), pending[2].ID}, {ws, uuid.New()}} {
		_, err = store.WithPending(t.Context(), c, absent.ws, absent.effect)
		require.ErrorIs(t, err, store.ErrNotFound)
	}
	boxes, _, err := s.PendingOf(t.Context(), query.Flow, []store.DocumentKey{document, {Workspace: ws, ID: uuid.New()}})
	require.NoError(t, err)
	require.Equal(t, []store.Outbox{{DocumentKey: document, Effects: pending}}, boxes)
	require.NoError(t, s.Done(t.Context(), query.Flow, store.Outbox{DocumentKey: document, Effects: pending[:2]}))
	eventually(t, func() bool {
		pending, err = s.Pending(t.Context(), query.Flow, store.DocumentKey{ID: key})
		require.NoError(t, err)
		return len(pending) == 1
	})
	require.NoError(t, s.Done(t.Context(), query.Flow, store.Outbox{DocumentKey: document, Effects: pending}))
	eventually(t, func() bool {
		due, err = s.Due(t.Context(), query.Flow, s.Now().Add(time.Second), 10)
		require.NoError(t, err)
		return len(due) == 0
	})
}

// eventually waits for a write of Done, Defer or Remove: a majority read may not see it at once (ADR 006).
func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 10*time.Second, time.Millisecond)
}

// failuresAreDueAgainInTheirOrder checks that a recorded failure moves a document from the sweep by age to the sweep by
// next attempt. A blocked document is in neither until Done clears it.
func failuresAreDueAgainInTheirOrder(t *testing.T, s *store.Store) {
	t.Helper()
	c, ws, now := flows(s), uuid.New(), s.Now()
	effect := func() store.Effect { return store.Effect{ID: uuid.New(), At: now, Kind: "k", Body: []byte("b")} }
	ids := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	documents := make([]store.DocumentKey, len(ids))
	for i, id := range ids {
		documents[i] = store.DocumentKey{Workspace: ws, ID: id}
		require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: id.String(), Name: fmt.Sprint(i)}, effect()))
	}
	require.NoError(t, s.Defer(t.Context(), query.Flow,
		store.Failure{DocumentKey: documents[0], Attempts: 2, NextAt: now.Add(2 * time.Second)},
		store.Failure{DocumentKey: documents[1], Attempts: 1, NextAt: now.Add(time.Second)},
		store.Failure{DocumentKey: documents[2], Attempts: 1, Blocked: "k"}))
	due := func(after, until time.Duration, omit ...uuid.UUID) (found []uuid.UUID) {
		t.Helper()
		var from time.Time
		if after > 0 {
			from = now.Add(after)
		}
		list, err := s.DueAgain(t.Context(), query.Flow, from, now.Add(until), omit, 10)
		require.NoError(t, err)
		for _, d := range list {
			found = append(found, d.ID)
		}
		return found
	}
	eventually(t, func() bool { return len(due(0, time.Minute)) == 2 })
	require.Equal(t, []uuid.UUID{ids[1], ids[0]}, due(0, time.Minute), "in the order of the next attempt")
	require.Equal(t, []uuid.UUID{ids[1]}, due(0, time.Second))
	require.Equal(t, []uuid.UUID{ids[0]}, due(time.Second, time.Minute), "behind the cursor")
	require.Empty(t, due(0, time.Minute, ws), "the workspace is omitted")
	eventually(t, func() bool { // The blocked document too: a majority may have one update of a command before the next.
		fresh, err := s.Due(t.Context(), query.Flow, now.Add(time.Second), 10)
		require.NoError(t, err)
		return len(fresh) == 0
	})
	boxes, _, err := s.PendingOf(t.Context(), query.Flow, documents)
	require.NoError(t, err)
	for _, box := range boxes {
		require.True(t, box.Deferred)
		require.Equal(t, box.ID == ids[2], box.Blocked)
		require.NoError(t, s.Done(t.Context(), query.Flow, box))
	}
	eventually(t, func() bool {
		boxes, _, err := s.PendingOf(t.Context(), query.Flow, documents)
		require.NoError(t, err)
		for _, box := range boxes {
			if box.Deferred || box.Blocked || box.Attempts > 0 || len(box.Effects) > 0 {
				return false
			}
		}
		return true
	})
}

// effectsOfOneIdAreRefused guards against losing an event in a crash. The effects of a state once shared the state's
// id, so removing the history effect from the outbox also removed the unpublished event.
func effectsOfOneIdAreRefused(t *testing.T, s *store.Store) {
	t.Helper()
	c, ws, key := flows(s), uuid.New(), uuid.New()
	twins := []store.Effect{{ID: key, At: s.Now(), Kind: "a"}, {ID: key, At: s.Now(), Kind: "b"}}
	require.ErrorContains(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: key.String(), Name: "etl"}, twins...), "same id")
	require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: key.String(), Name: "etl"}))
	_, err := c.Mutate(t.Context(), ws, key, func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
		return &store.Change[*orchv1.Flow]{Message: current, Effects: twins}, nil
	})
	require.ErrorContains(t, err, "same id")
}

func deletedLeavesItsWorkspaceAtOnce(t *testing.T, s *store.Store) {
	t.Helper()
	c, ws, key := flows(s), uuid.New(), uuid.New()
	for i := range 3 { // The same name again and again, while no relay removes the deleted ones.
		key = uuid.New()
		require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: key.String(), Name: "etl"}), i)
		require.NoError(t, c.Delete(t.Context(), ws, key, func(*orchv1.Flow) ([]store.Effect, error) { return nil, nil }))
	}
	_, err := c.Get(t.Context(), ws, key)
	require.ErrorIs(t, err, store.ErrNotFound)
	require.ErrorIs(t, c.Delete(t.Context(), ws, key, func(*orchv1.Flow) ([]store.Effect, error) { return nil, nil }), store.ErrNotFound)
	n, err := c.Count(t.Context(), ws, store.Query{})
	require.NoError(t, err)
	require.Zero(t, n)
	pending, err := s.Pending(t.Context(), query.Flow, store.DocumentKey{ID: key})
	require.NoError(t, err)
	require.Equal(t, store.KindRemove, pending[0].Kind)
	require.NoError(t, s.Remove(t.Context(), query.Flow, key))
	eventually(t, func() bool {
		pending, err = s.Pending(t.Context(), query.Flow, store.DocumentKey{ID: key})
		require.NoError(t, err)
		return len(pending) == 0
	})
}

func claimRefusesAnotherVocabulary(t *testing.T, s *store.Store) {
	t.Helper()
	require.NoError(t, s.Claim(t.Context(), vocabulary.Orch))
	require.NoError(t, s.Claim(t.Context(), vocabulary.Orch))
	err := s.Claim(t.Context(), vocabulary.Prefect)
	require.ErrorIs(t, err, store.ErrFormat)
	require.ErrorContains(t, err, `"orch"`)
}

// claimDecides: an undecided database takes the vocabulary of the first claim that has one, of concurrent ones too.
func claimDecides(t *testing.T, s *store.Store) {
	t.Helper()
	require.NoError(t, s.Claim(t.Context(), vocabulary.Undecided))
	require.NoError(t, s.Claim(t.Context(), vocabulary.Undecided))
	refused := make(chan error, 8)
	for i := range cap(refused) {
		go func() {
			refused <- s.Claim(t.Context(), []vocabulary.Vocabulary{vocabulary.Orch, vocabulary.Prefect}[i%2])
		}()
	}
	count := 0
	for range cap(refused) {
		if err := <-refused; err != nil {
			require.ErrorIs(t, err, store.ErrFormat)
			count++
		}
	}
	require.Equal(t, cap(refused)/2, count, "one vocabulary")
	require.ErrorIs(t, s.Claim(t.Context(), vocabulary.Undecided), store.ErrFormat)
}
