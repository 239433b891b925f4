package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// chains is a relay that records whether the write chains of the writes were intact, and executes nothing.
type chains struct{ intact []bool }

func (c *chains) Wake(_ query.Collection, _, _ uuid.UUID, _ []store.Effect, before *store.WriteChain) *store.WriteChain {
	c.intact = append(c.intact, before.Intact())
	return nil
}

func (c *chains) Settle(context.Context, query.Collection, uuid.UUID) error { return nil }

// The outbox of a document is read only if it may hold effects of other writes.
func TestAnEmptyOutboxIsNotReadAgain(t *testing.T) {
	t.Parallel()
	s, done := open(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	t.Cleanup(done)
	effect := store.Effect{ID: uuid.New(), At: time.Unix(1000, 0), Kind: "test", Body: []byte("x")}
	for name, test := range map[string]struct {
		before func(key store.DocumentKey) // The change of the document before the write.
		intact bool
	}{
		"no effects": {func(store.DocumentKey) {}, true},
		"executed effects": {func(key store.DocumentKey) {
			change(t, flows(s), key, effect)
			require.NoError(t, s.Done(t.Context(), query.Flow, store.Outbox{DocumentKey: key, Effects: []store.Effect{effect}}))
		}, true},
		"pending effects": {func(key store.DocumentKey) { change(t, flows(s), key, effect) }, false},
		"recorded failure": {func(key store.DocumentKey) {
			change(t, flows(s), key, effect)
			require.NoError(t, s.Defer(t.Context(), query.Flow, store.Failure{DocumentKey: key, Attempts: 1, NextAt: time.Unix(2000, 0)}))
			require.NoError(t, s.Done(t.Context(), query.Flow, store.Outbox{DocumentKey: key, Effects: []store.Effect{effect}}))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, relay := store.DocumentKey{Workspace: uuid.New(), ID: uuid.New()}, &chains{}
			require.NoError(t, flows(s).Insert(t.Context(), key.Workspace, &orchv1.Flow{Id: key.ID.String(), Name: key.ID.String()}))
			test.before(key)
			next := effect
			next.ID = uuid.New()
			change(t, flows(s.WithRelay(relay), store.VersionCache), key, next)
			require.Equal(t, []bool{test.intact}, relay.intact)
		})
	}
}

func change(t *testing.T, c *store.Collection[*orchv1.Flow], key store.DocumentKey, effect store.Effect) {
	t.Helper()
	_, err := c.Mutate(t.Context(), key.Workspace, key.ID, func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
		return &store.Change[*orchv1.Flow]{Message: proto.CloneOf(current), Effects: []store.Effect{effect}}, nil
	})
	require.NoError(t, err)
}
