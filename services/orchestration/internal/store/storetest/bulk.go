package storetest

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
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

// changeAllNamesWhatItLost: a change that is not written does not concern the others of its batch, and the caller learns which one it is.
func changeAllNamesWhatItLost(t *testing.T, s *store.Store) {
	t.Helper()
	c := flows(s)
	lost, err := store.ChangeAll(t.Context(), c, nil)
	require.NoError(t, err)
	require.Empty(t, lost)

	workspaces := []uuid.UUID{uuid.New(), uuid.New()}
	effect := func() store.Effect {
		return store.Effect{ID: s.NewID(), At: s.Now(), Kind: "test", Body: []byte("body")}
	}
	var updates []store.Update[*orchv1.Flow]
	var want []int
	for i, one := range []struct {
		name      string
		written   bool
		meanwhile func(ws, id uuid.UUID)
		edit      func(change *store.Change[*orchv1.Flow])
	}{
		{name: "as it was", written: true},
		{name: "of another workspace", written: true},
		{name: "changed", meanwhile: func(ws, id uuid.UUID) {
			_, err := c.Mutate(t.Context(), ws, id, func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
				return tag(current, "meanwhile"), nil
			})
			require.NoError(t, err)
		}},
		{name: "deleted", meanwhile: func(ws, id uuid.UUID) {
			require.NoError(t, c.Delete(t.Context(), ws, id, func(*orchv1.Flow) ([]store.Effect, error) { return nil, nil }))
		}},
		{name: "with a taken name", edit: func(change *store.Change[*orchv1.Flow]) { change.Message.Name = "as it was" }},
		{name: "with a taken name of the other workspace", written: true, edit: func(change *store.Change[*orchv1.Flow]) { change.Message.Name = "as it was" }},
		{name: "with an effect twice", edit: func(change *store.Change[*orchv1.Flow]) { change.Effects = append(change.Effects, change.Effects...) }},
	} {
		ws, flow := workspaces[i%len(workspaces)], &orchv1.Flow{Id: uuid.NewString(), Name: one.name}
		id := uuid.MustParse(flow.GetId())
		require.NoError(t, c.Insert(t.Context(), ws, flow))
		read, err := c.FindAcross(t.Context(), store.Query{Filter: bson.D{{Key: "_id", Value: store.Binary(id)}}, Sort: bson.D{{Key: "_id", Value: 1}}, Limit: 1})
		require.NoError(t, err)
		change := tag(read[0].Message, "together")
		change.Effects = []store.Effect{effect()}
		if one.edit != nil {
			one.edit(change)
		}
		if one.meanwhile != nil {
			one.meanwhile(ws, id)
		}
		updates = append(updates, store.Update[*orchv1.Flow]{Read: read[0], Change: change})
		if !one.written {
			want = append(want, i)
		}
	}
	lost, err = store.ChangeAll(t.Context(), c, updates)
	require.NoError(t, err)
	require.Equal(t, want, lost)
	for i, u := range updates {
		id := uuid.MustParse(u.Read.Message.GetId())
		effects, err := s.Pending(t.Context(), query.Flow, store.DocumentKey{Workspace: u.Read.Workspace, ID: id})
		require.NoError(t, err)
		written := slices.ContainsFunc(effects, func(e store.Effect) bool { return e.ID == u.Change.Effects[0].ID })
		require.Equal(t, !slices.Contains(lost, i), written, u.Read.Message.GetName())
	}
}
