package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestSubjects(t *testing.T) {
	t.Parallel()
	s := storetest.Embedded(t, clock.System{})
	ws, id := uuid.New(), uuid.New()
	e := s.ResourceEffect("kind", ws, id)
	gotWS, gotID, err := e.Subject()
	require.NoError(t, err)
	require.Equal(t, [2]uuid.UUID{ws, id}, [2]uuid.UUID{gotWS, gotID})
	for _, size := range []int{0, 16, 31, 33} {
		_, _, err := store.Effect{Kind: "kind", Body: make([]byte, size)}.Subject()
		require.ErrorContains(t, err, `"kind"`, size)
	}

	failure, seen := errors.New("no"), 0
	err = store.EachResource([]store.Effect{e, e, e}, func(uuid.UUID, uuid.UUID) error {
		if seen++; seen == 2 {
			return failure
		}
		return nil
	})
	require.ErrorIs(t, err, failure)
	require.Equal(t, 2, seen)
}

func TestRevisions(t *testing.T) {
	t.Parallel()
	s := storetest.Embedded(t, clock.System{})
	ws := uuid.New()
	for n := range 3 {
		var want []store.Revision
		for i := range n {
			want = append(want, store.Revision{ID: uuid.New(), Revision: int64(i) << 40})
		}
		gotWS, got, err := s.AboutRevisions("kind", ws, want).Revisions()
		require.NoError(t, err)
		require.Equal(t, ws, gotWS)
		require.Equal(t, want, got)
	}
	for _, size := range []int{0, 15, 17, 39, 41} {
		_, _, err := store.Effect{Kind: "kind", Body: make([]byte, size)}.Revisions()
		require.ErrorContains(t, err, `"kind"`, size)
	}
}

func TestCarriedDocuments(t *testing.T) {
	t.Parallel()
	s := storetest.Embedded(t, clock.System{})
	variables := store.NewCollection(s, query.Variable, &orchv1.Variable{})
	ws, other := uuid.New(), uuid.New()
	carry := func(ws uuid.UUID, name string) (store.Effect, *orchv1.Variable) {
		v := &orchv1.Variable{Id: uuid.NewString(), Name: name}
		e, err := store.MessageEffect("kind", uuid.New(), time.Now(), ws, v)
		require.NoError(t, err)
		return e, v
	}
	mine, want := carry(ws, "mine")
	theirs, _ := carry(other, "theirs")
	pending := []store.Effect{mine, {Kind: "another", Body: []byte("?")}, theirs}
	carried, err := store.PendingMessages(variables, pending, "kind", ws)
	require.NoError(t, err)
	require.Len(t, carried, 1)
	require.Equal(t, mine.ID, carried[0].Effect.ID)
	require.True(t, proto.Equal(want, carried[0].Message))
	_, err = store.PendingMessages(variables, pending, "another", ws)
	require.Error(t, err)

	require.NoError(t, store.InsertMessages(t.Context(), variables, []store.Effect{mine, theirs}, nil))
	require.NoError(t, store.InsertMessages(t.Context(), variables, []store.Effect{mine}, nil), "twice is as once")
	n, err := variables.Count(t.Context(), ws, store.Query{})
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
	require.Error(t, store.InsertMessages(t.Context(), variables, []store.Effect{{Body: make([]byte, 15)}}, nil))
}

func TestDrain(t *testing.T) {
	t.Parallel()
	s := storetest.Embedded(t, clock.System{})
	variables := store.NewCollection(s, query.Variable, &orchv1.Variable{})
	ws := uuid.New()
	for n := range 450 { // Several batches.
		require.NoError(t, variables.Insert(t.Context(), ws, &orchv1.Variable{Id: s.NewID().String(), Name: fmt.Sprint(n)}))
	}
	require.NoError(t, variables.Insert(t.Context(), uuid.New(), &orchv1.Variable{Id: s.NewID().String(), Name: "stays"}))
	failure := errors.New("no")
	require.ErrorIs(t, store.Drain(t.Context(), variables, ws, nil, func(uuid.UUID) error { return failure }), failure)

	var visited []string
	require.NoError(t, store.Drain(t.Context(), variables, ws, nil, func(id uuid.UUID) error {
		visited = append(visited, id.String())
		if err := variables.DeleteMany(t.Context(), ws, bson.D{{Key: "_id", Value: store.Binary(id)}}); err != nil {
			return err
		}
		return store.ErrNotFound // As if another process had been faster.
	}))
	require.Len(t, visited, 450)
	require.True(t, slices.IsSorted(visited))
	all := 0
	require.NoError(t, store.EachRevision(t.Context(), variables, store.Query{}, func(store.Owned[*orchv1.Variable]) error { all++; return nil }))
	require.Equal(t, 1, all)
}
