package store_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// TestDeletionsOfEffectsAfterAFailover: the handler of an effect deletes documents, the primary is lost, and the write that removes the
// effect goes to the next primary. The documents must be gone, or the effect must be there.
func TestDeletionsOfEffectsAfterAFailover(t *testing.T) {
	t.Parallel()
	dependents := bson.D{{Key: "tags", Value: "dependent"}}
	for name, remove := range map[string]func(t *testing.T, c *store.Collection[*orchv1.Flow], ws uuid.UUID){
		"DeleteMany": func(t *testing.T, c *store.Collection[*orchv1.Flow], ws uuid.UUID) {
			t.Helper()
			require.NoError(t, c.DeleteMany(t.Context(), ws, dependents))
		},
		"RemoveRevisions": func(t *testing.T, c *store.Collection[*orchv1.Flow], ws uuid.UUID) {
			t.Helper()
			read, err := store.FindVersions(t.Context(), c, ws, dependents)
			require.NoError(t, err)
			var batch []store.Revision
			for _, v := range read {
				batch = append(batch, store.Revision{ID: uuid.MustParse(v.Message.GetId()), Revision: v.Revision})
			}
			removed, err := store.RemoveRevisions(t.Context(), c, ws, batch)
			require.NoError(t, err)
			require.Len(t, removed, len(batch))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := vfs.NewCrashableMem()
			s, dialer := connect(t, openOn(t, disk))
			c, ws, owner := flows(s), uuid.New(), uuid.New()
			effect := store.Effect{ID: s.NewID(), At: s.Now(), Kind: "forget", Body: owner[:]}
			require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: owner.String(), Name: "owner"}, effect))
			for range 3 {
				dependent := uuid.NewString()
				require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: dependent, Name: dependent, Tags: []string{"dependent"}}))
			}
			remove(t, c, ws)
			dialer.switchTo(successor(t, disk))
			require.Eventually(t, func() bool { _, err := c.Get(t.Context(), ws, owner); return err == nil }, time.Minute, time.Millisecond)
			require.NoError(t, s.Done(t.Context(), query.Flow, store.Outbox{DocumentKey: store.DocumentKey{Workspace: ws, ID: owner}, Effects: []store.Effect{effect}}))
			n, err := c.Count(t.Context(), ws, store.Query{Filter: dependents})
			require.NoError(t, err)
			require.Zero(t, n)
		})
	}
}

// TestADiscardedDeadLetterAfterAFailover: a document that its dead letter blocks must not stay blocked without the letter.
func TestADiscardedDeadLetterAfterAFailover(t *testing.T) {
	t.Parallel()
	disk := vfs.NewCrashableMem()
	s, dialer := connect(t, openOn(t, disk))
	c, ws, owner := flows(s), uuid.New(), uuid.New()
	effect := store.Effect{ID: s.NewID(), At: s.Now(), Kind: "blocking", Body: owner[:]}
	require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: owner.String(), Name: "owner"}, effect))
	key := store.DocumentKey{Workspace: ws, ID: owner}
	require.NoError(t, s.Defer(t.Context(), query.Flow, store.Failure{DocumentKey: key, Attempts: 1, Blocked: "blocking"}))
	require.NoError(t, s.Writable(t.Context())) // The log is on disk.

	require.NoError(t, s.DoneDurably(t.Context(), query.Flow, store.Outbox{DocumentKey: key, Effects: []store.Effect{effect}, Deferred: true}))
	dialer.switchTo(successor(t, disk))
	require.Eventually(t, func() bool { _, err := c.Get(t.Context(), ws, owner); return err == nil }, time.Minute, time.Millisecond)
	boxes, _, err := s.PendingOf(t.Context(), query.Flow, []store.DocumentKey{key})
	require.NoError(t, err)
	require.Equal(t, []store.Outbox{{DocumentKey: key, Effects: []store.Effect{}}}, boxes)
}
