package storetest

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func insertAllTellsWhatIsTaken(t *testing.T, s *store.Store) {
	t.Helper()
	c, ws := flows(s), uuid.New()
	flow := func(name string) *orchv1.Flow { return &orchv1.Flow{Id: uuid.NewString(), Name: name} }
	taken, err := store.InsertAll(t.Context(), c, ws, nil)
	require.NoError(t, err)
	require.Empty(t, taken)
	first := []*orchv1.Flow{flow("a"), flow("b")}
	taken, err = store.InsertAll(t.Context(), c, ws, first)
	require.NoError(t, err)
	require.Empty(t, taken)
	require.NotNil(t, first[0].Created)

	sameID := flow("e")
	sameID.Id = first[0].GetId()
	taken, err = store.InsertAll(t.Context(), c, ws, []*orchv1.Flow{flow("c"), flow("a"), flow("d"), sameID})
	require.NoError(t, err)
	require.Equal(t, []int{1, 3}, taken)
	n, err := c.Count(t.Context(), ws, store.Query{})
	require.NoError(t, err)
	require.Equal(t, int64(4), n)

	for workspace, want := range map[uuid.UUID]bool{ws: false, uuid.New(): true} {
		occupied, err := store.Occupied(t.Context(), c, workspace, first[0].GetId())
		require.NoError(t, err)
		require.Equal(t, want, occupied)
	}
	occupied, err := store.Occupied(t.Context(), c, ws, uuid.NewString())
	require.NoError(t, err)
	require.False(t, occupied)
}

func replaceAllTellsWhetherItLost(t *testing.T, s *store.Store) {
	t.Helper()
	c, ws := flows(s), uuid.New()
	_, err := store.InsertAll(t.Context(), c, ws, []*orchv1.Flow{{Id: uuid.NewString(), Name: "a"}, {Id: uuid.NewString(), Name: "b"}})
	require.NoError(t, err)
	named := func(versions []store.Version[*orchv1.Flow], rename func(string) string) []store.Replacement[*orchv1.Flow] {
		var all []store.Replacement[*orchv1.Flow]
		for _, v := range versions {
			next := proto.Clone(v.Message).(*orchv1.Flow)
			next.Name = rename(next.GetName())
			all = append(all, store.Replacement[*orchv1.Flow]{Read: v, Next: next})
		}
		return all
	}
	read := func() (versions []store.Version[*orchv1.Flow], names []string) {
		versions, err := store.FindVersions(t.Context(), c, ws, nil)
		require.NoError(t, err)
		for _, v := range versions {
			names = append(names, v.Message.GetName())
		}
		return versions, names
	}
	old, names := read()
	require.ElementsMatch(t, []string{"a", "b"}, names)
	_, complete, err := store.ReplaceAll(t.Context(), c, ws, named(old, func(name string) string { return name + "2" }))
	require.NoError(t, err)
	require.True(t, complete)

	_, complete, err = store.ReplaceAll(t.Context(), c, ws, named(old, func(name string) string { return name + "3" }))
	require.NoError(t, err)
	require.False(t, complete, "they have been changed since")
	versions, names := read()
	require.ElementsMatch(t, []string{"a2", "b2"}, names)
	require.Equal(t, old[0].Revision+1, versions[0].Revision)

	_, complete, err = store.ReplaceAll(t.Context(), c, ws, named(versions, func(string) string { return "same" }))
	require.NoError(t, err)
	require.False(t, complete, "a name is taken")
	_, complete, err = store.ReplaceAll(t.Context(), c, ws, nil)
	require.NoError(t, err)
	require.True(t, complete)

	found, err := c.Distinct(t.Context(), ws, "name", bson.D{{Key: "name", Value: bson.D{{Key: "$gte", Value: "b"}}}})
	require.NoError(t, err)
	require.NotContains(t, found, "a2")
	require.Contains(t, found, "same")
}
