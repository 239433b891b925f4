package embeddedmongo_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// TestInsertWithoutConnection inserts the same documents without a connection and through the driver. Replies and stored
// documents are equal, and the store retains none of the documents' memory.
func TestInsertWithoutConnection(t *testing.T) {
	ctx := t.Context()
	s, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	var docs []bson.Raw
	for i := range 300 {
		d := D{{Key: "_id", Value: i % 299}, {Key: "text", Value: fmt.Sprint("text of ", i)}} // The last one is a duplicate.
		if i == 7 {
			d = append(d, bson.E{Key: "$bad", Value: 1})
		}
		raw, err := bson.Marshal(d)
		require.NoError(t, err)
		docs = append(docs, raw)
	}
	driven := cl.Database("d").RunCommand(ctx, D{{Key: "insert", Value: "driven"}, {Key: "ordered", Value: false}, {Key: "documents", Value: docs}})
	want, _ := driven.Raw()
	reply, err := s.ContextDialer().Insert(ctx, "d", "direct", docs)
	require.NoError(t, err)
	for _, field := range []string{"n", "ok"} {
		require.Equal(t, want.Lookup(field), reply.Lookup(field), field)
	}
	codes := func(reply bson.Raw) (list []string) {
		values, err := reply.Lookup("writeErrors").Array().Values()
		require.NoError(t, err)
		for _, v := range values {
			list = append(list, fmt.Sprint(v.Document().Lookup("index"), v.Document().Lookup("code")))
		}
		return list
	}
	require.Equal(t, codes(want), codes(reply))
	require.Len(t, codes(reply), 2)

	for _, doc := range docs { // The caller reuses its memory.
		clear(doc)
	}
	stored := func(name string) (all []bson.M) {
		found, err := cl.Database("d").Collection(name).Find(ctx, D{}, options.Find().SetSort(D{{Key: "_id", Value: 1}}))
		require.NoError(t, err)
		require.NoError(t, found.All(ctx, &all))
		return all
	}
	require.Len(t, stored("direct"), 298)
	require.Equal(t, stored("driven"), stored("direct"))
}

func TestInsertWithoutConnectionRefuses(t *testing.T) {
	s, _ := start(t, t.TempDir(), embeddedmongo.Options{})
	doc, err := bson.Marshal(D{{Key: "_id", Value: 1}})
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.ContextDialer().Insert(ended, "d", "c", []bson.Raw{doc})
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.ContextDialer().Insert(t.Context(), "d", "c", []bson.Raw{doc, doc[:len(doc)-1]})
	require.ErrorContains(t, err, "insert document 2 of 2")
	require.NoError(t, s.Close())
	_, err = s.ContextDialer().Insert(t.Context(), "d", "c", []bson.Raw{doc})
	require.ErrorIs(t, err, embeddedmongo.ErrClosed)
}
