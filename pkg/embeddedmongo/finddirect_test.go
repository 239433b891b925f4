package embeddedmongo_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// TestFindWithoutConnection reads the same document without a connection and through the driver. The caller owns the reply:
// later commands leave it unchanged.
func TestFindWithoutConnection(t *testing.T) {
	ctx := t.Context()
	s, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	c := cl.Database("d").Collection("c")
	long := make([]byte, 4<<10)
	_, err := c.InsertMany(ctx, []D{
		{{Key: "_id", Value: 1}, {Key: "ws", Value: "a"}, {Key: "text", Value: bson.Binary{Data: long}}, {Key: "outbox", Value: bson.A{1}}},
		{{Key: "_id", Value: 2}, {Key: "ws", Value: "b"}, {Key: "text", Value: "another"}},
	})
	require.NoError(t, err)
	raw := func(d D) bson.Raw {
		b, err := bson.Marshal(d)
		require.NoError(t, err)
		return b
	}
	without := raw(D{{Key: "outbox", Value: 0}})
	for _, projection := range []bson.Raw{nil, without} {
		for _, majority := range []bool{false, true} {
			filter := D{{Key: "ws", Value: "a"}, {Key: "_id", Value: 1}}
			opts := options.FindOne()
			if projection != nil {
				opts.SetProjection(projection)
			}
			want, err := c.FindOne(ctx, filter, opts).Raw()
			require.NoError(t, err)
			reply, err := s.ContextDialer().FindOne(ctx, "d", "c", raw(filter), projection, majority)
			require.NoError(t, err)
			for id := range 3 { // These may use the memory of released replies.
				_, err = s.ContextDialer().FindOne(ctx, "d", "c", raw(D{{Key: "_id", Value: id}}), nil, majority)
				require.NoError(t, err)
			}
			require.Equal(t, want.String(), reply.Lookup("cursor", "firstBatch", "0").Document().String())
		}
	}
	for _, missing := range []D{{{Key: "_id", Value: 3}}, {{Key: "ws", Value: "b"}, {Key: "_id", Value: 1}}} {
		reply, err := s.ContextDialer().FindOne(ctx, "d", "c", raw(missing), nil, true)
		require.NoError(t, err)
		require.Len(t, reply.Lookup("cursor", "firstBatch").Array(), 5, "an empty array")
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = s.ContextDialer().FindOne(ended, "d", "c", without, nil, true)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.ContextDialer().FindOne(ctx, "d", "c", without[:3], nil, true)
	require.ErrorContains(t, err, "execute find")
	require.NoError(t, s.Close())
	_, err = s.ContextDialer().FindOne(ctx, "d", "c", without, nil, true)
	require.ErrorIs(t, err, embeddedmongo.ErrClosed)
}
