package storetest

import (
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// whatIsRememberedIsWhatIsStored changes documents through one store while another one caches them. Every decision of
// the second store is based on the stored version.
func whatIsRememberedIsWhatIsStored(t *testing.T, s *store.Store) {
	t.Helper()
	theirs, ours, ws, key := flows(s), flows(s, store.VersionCache), uuid.New(), uuid.New()
	tag := func(c *store.Collection[*orchv1.Flow], tag string) (seen *orchv1.Flow) {
		_, err := c.Mutate(t.Context(), ws, key, func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
			seen = proto.Clone(current).(*orchv1.Flow)
			next := proto.Clone(current).(*orchv1.Flow)
			next.Tags = append(next.Tags, tag)
			return &store.Change[*orchv1.Flow]{Message: next}, nil
		})
		require.NoError(t, err)
		return seen
	}
	made := &orchv1.Flow{Id: key.String(), Name: "etl"}
	require.NoError(t, ours.Insert(t.Context(), ws, made))
	made.Name = "the caller's own by now"
	for _, by := range []*store.Collection[*orchv1.Flow]{ours, ours, theirs, ours, theirs, theirs, ours} {
		stored, err := theirs.Get(t.Context(), ws, key)
		require.NoError(t, err)
		seen := tag(by, "x")
		require.True(t, proto.Equal(stored, seen), "%v is not %v", stored, seen)
	}

	tag(theirs, "unseen")
	no := errors.New("no")
	for _, end := range []error{nil, no} {
		tag(ours, "remembered")
		tag(theirs, "later")
		var last string
		_, err := ours.Mutate(t.Context(), ws, key, func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
			last = current.GetTags()[len(current.GetTags())-1]
			return nil, end
		})
		require.ErrorIs(t, err, end)
		require.Equal(t, "later", last)
	}

	tag(ours, "remembered")
	_, err := ours.Mutate(t.Context(), uuid.New(), key, func(*orchv1.Flow, int64) (*store.Change[*orchv1.Flow], error) { return nil, nil })
	require.ErrorIs(t, err, store.ErrNotFound, "another workspace does not see it")
	tag(ours, "remembered")
	require.NoError(t, theirs.Delete(t.Context(), ws, key, func(*orchv1.Flow) ([]store.Effect, error) { return nil, nil }))
	_, err = ours.Mutate(t.Context(), ws, key, func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
		return &store.Change[*orchv1.Flow]{Message: current}, nil
	})
	require.ErrorIs(t, err, store.ErrNotFound)
}
