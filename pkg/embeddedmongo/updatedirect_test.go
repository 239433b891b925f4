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

// TestUpdateWithoutConnection executes the same updates without a connection and through the driver. Replies and stored
// documents are equal, and the store retains none of the memory of an update.
func TestUpdateWithoutConnection(t *testing.T) {
	ctx := t.Context()
	s, cl := start(t, t.TempDir(), embeddedmongo.Options{})
	for _, name := range []string{"driven", "direct"} {
		c := cl.Database("d").Collection(name)
		_, err := c.InsertMany(ctx, []D{{{Key: "_id", Value: 1}, {Key: "rev", Value: 1}}, {{Key: "_id", Value: 2}, {Key: "rev", Value: 1}}})
		require.NoError(t, err)
		require.NoError(t, cl.Database("d").RunCommand(ctx, D{{Key: "createIndexes", Value: name}, {Key: "indexes", Value: bson.A{
			D{{Key: "key", Value: D{{Key: "name", Value: 1}}}, {Key: "name", Value: "name"}, {Key: "unique", Value: true}, {Key: "sparse", Value: true}},
		}}}).Err())
	}
	set := func(fields D) D { return D{{Key: "$set", Value: fields}} }
	var updates []bson.Raw
	for _, one := range []struct{ filter, update D }{
		{D{{Key: "_id", Value: 1}, {Key: "rev", Value: 1}}, set(D{{Key: "rev", Value: 2}, {Key: "name", Value: "a name"}})},
		{D{{Key: "_id", Value: 1}, {Key: "rev", Value: 1}}, set(D{{Key: "rev", Value: 3}})},          // Lost.
		{D{{Key: "_id", Value: 2}}, set(D{{Key: "name", Value: "a name"}})},                          // Duplicate.
		{D{{Key: "_id", Value: 2}}, D{{Key: "$bad", Value: 1}}},                                      // Refused.
		{D{{Key: "_id", Value: 2}}, D{{Key: "$push", Value: D{{Key: "list", Value: "an element"}}}}}, // Executed although others failed.
	} {
		t.Run(fmt.Sprint(one.filter), func(t *testing.T) {
			raw, err := bson.Marshal(D{{Key: "q", Value: one.filter}, {Key: "u", Value: one.update}})
			require.NoError(t, err)
			updates = append(updates, raw)
		})
	}
	driven := cl.Database("d").RunCommand(ctx, D{{Key: "update", Value: "driven"}, {Key: "ordered", Value: false}, {Key: "updates", Value: updates}})
	want, _ := driven.Raw()
	reply, err := s.ContextDialer().Update(ctx, "d", "direct", updates, true)
	require.NoError(t, err)
	for _, field := range []string{"n", "nModified", "ok"} {
		require.Equal(t, want.Lookup(field), reply.Lookup(field), field)
	}
	codes := func(reply bson.Raw) (list []string) {
		values, err := reply.Lookup("writeErrors").Array().Values()
		require.NoError(t, err)
		for _, v := range values {
			list = append(list, v.Document().Lookup("index").String()+" "+v.Document().Lookup("code").String())
		}
		return list
	}
	require.Equal(t, codes(want), codes(reply))
	require.Len(t, codes(reply), 2)
	for _, update := range updates { // The caller reuses its memory.
		clear(update)
	}
	stored := func(name string) (all []bson.M) {
		found, err := cl.Database("d").Collection(name).Find(ctx, D{}, options.Find().SetSort(D{{Key: "_id", Value: 1}}))
		require.NoError(t, err)
		require.NoError(t, found.All(ctx, &all))
		return all
	}
	require.Equal(t, "a name", stored("direct")[0]["name"])
	require.Equal(t, stored("driven"), stored("direct"))
}

func TestUpdateWithoutConnectionRefuses(t *testing.T) {
	s, _ := start(t, t.TempDir(), embeddedmongo.Options{})
	update, err := bson.Marshal(D{{Key: "q", Value: D{{Key: "_id", Value: 1}}}, {Key: "u", Value: D{{Key: "$set", Value: D{{Key: "a", Value: 1}}}}}})
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.ContextDialer().Update(ended, "d", "c", []bson.Raw{update}, true)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.ContextDialer().Update(t.Context(), "d", "c", []bson.Raw{update[:len(update)-1]}, false)
	require.ErrorContains(t, err, "execute update 1 of 1")
	require.NoError(t, s.Close())
	_, err = s.ContextDialer().Update(t.Context(), "d", "c", []bson.Raw{update}, true)
	require.ErrorIs(t, err, embeddedmongo.ErrClosed)
}
