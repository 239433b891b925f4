package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// scansLeaveOutUndecodableDocuments: a document of a newer version, in one workspace, does not hide those of the others.
func scansLeaveOutUndecodableDocuments(t *testing.T, s *store.Store) {
	t.Helper()
	c, ws, other := flows(s), uuid.New(), uuid.New()
	const documents = 9
	for i := range documents {
		workspace := ws
		if i%3 == 0 {
			workspace = other
		}
		require.NoError(t, c.Insert(t.Context(), workspace, &orchv1.Flow{Id: uuid.NewString(), Name: fmt.Sprint(i)}))
	}
	names := func(found []store.Owned[*orchv1.Flow], err error) (list []string) {
		require.NoError(t, err)
		for _, one := range found {
			list = append(list, one.Message.GetName())
		}
		return list
	}
	all, err := store.AllAcross(t.Context(), c, nil)
	require.NoError(t, err)
	require.Len(t, all, documents)

	// The first and the second one of an order.
	newer := bson.D{{Key: "$set", Value: bson.D{{Key: "tags", Value: bson.D{{Key: "of", Value: "a newer version"}}}}}}
	for _, name := range []string{"0", "3"} {
		require.NoError(t, s.UpdateMany(t.Context(), query.Flow, other, bson.D{{Key: "name", Value: name}}, newer))
	}
	byName := bson.D{{Key: "name", Value: 1}}
	require.Equal(t, []string{"1", "2"}, names(c.FindAcross(t.Context(), store.Query{Sort: byName, Limit: 2})), "a page is full while there are more")
	require.Equal(t, []string{"1", "2", "4", "5", "6", "7", "8"}, names(c.FindAcross(t.Context(), store.Query{Sort: byName, Limit: documents})))
	seen := map[uuid.UUID]int{}
	require.NoError(t, c.EachAcross(t.Context(), store.Query{}, func(ws uuid.UUID, _ *orchv1.Flow) error { seen[ws]++; return nil }))
	require.Equal(t, map[uuid.UUID]int{ws: 6, other: 1}, seen)
	all, err = store.AllAcross(t.Context(), c, nil)
	require.Error(t, err, "it is for decisions that need every document")
	require.Len(t, all, documents-2)
}

// readsEndAtTheirSize: Page ends before it exceeds its bytes, and has at least one document.
func readsEndAtTheirSize(t *testing.T, s *store.Store) {
	t.Helper()
	c, ws := flows(s), uuid.New()
	const documents, size = 10, 10_000
	for i := range documents {
		name := fmt.Sprint(i, strings.Repeat("<", size))
		require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: uuid.NewString(), Name: name}))
	}
	for _, test := range []struct {
		limit      int64
		size, want int
		more       bool
	}{
		{100, 3*size + size/2, 3, true},
		{100, 1, 1, true},
		{2, 100 * size, 2, true},
		{documents, 100 * size, documents, false},
	} {
		found, more, err := c.Page(t.Context(), ws, store.Query{Sort: bson.D{{Key: "name", Value: 1}}, Limit: test.limit, Bytes: test.size})
		require.NoError(t, err)
		require.Len(t, found, test.want)
		require.Equal(t, test.more, more)
		require.Equal(t, "0", found[0].GetName()[:1])
	}
	_, more, err := c.Page(t.Context(), uuid.New(), store.Query{Sort: bson.D{{Key: "name", Value: 1}}, Limit: 1, Bytes: 1})
	require.NoError(t, err)
	require.False(t, more)
	seen := map[uuid.UUID]int{}
	require.NoError(t, store.EachOwner(t.Context(), c, nil, func(ws uuid.UUID) { seen[ws]++ }))
	require.Equal(t, map[uuid.UUID]int{ws: documents}, seen)
}
