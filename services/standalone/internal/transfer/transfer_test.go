package transfer_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/standalone/internal/transfer"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// database is an empty one on a server of its own.
func database(t *testing.T) *mongo.Database {
	t.Helper()
	server, err := embeddedmongo.Open(t.TempDir(), embeddedmongo.Options{NoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	client, err := mongo.Connect(options.Client().ApplyURI(server.URI()).SetDialer(server.ContextDialer()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Disconnect(context.WithoutCancel(t.Context()))) })
	return client.Database("orch")
}

func TestCopy(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	from, to := database(t), database(t)
	var docs []bson.D
	for n := range 2500 { // Several batches.
		docs = append(docs, bson.D{{Key: "_id", Value: n}, {Key: "name", Value: bson.NewObjectID()}, {Key: "tags", Value: bson.A{"a", n}}})
	}
	_, err := from.Collection("many").InsertMany(ctx, docs)
	require.NoError(t, err)
	_, err = from.Collection("many").Indexes().CreateOne(ctx, mongo.IndexModel{
		Keys: bson.D{{Key: "name", Value: 1}}, Options: options.Index().SetUnique(true).SetName("by_name"),
	})
	require.NoError(t, err)
	_, err = from.Collection("few").InsertOne(ctx, bson.D{{Key: "_id", Value: "one"}})
	require.NoError(t, err)

	progress := map[string][]int64{}
	require.NoError(t, transfer.Copy(ctx, from, to, func(collection string, done, total int64) {
		progress[collection] = append(progress[collection], done)
		require.LessOrEqual(t, done, total)
	}))
	require.Equal(t, map[string][]int64{"few": {1}, "many": {1000, 2000, 2500}}, progress)
	for _, name := range []string{"few", "many"} {
		require.Equal(t, read(t, from, name), read(t, to, name))
	}
	_, err = to.Collection("many").InsertOne(ctx, bson.D{{Key: "_id", Value: "double"}, {Key: "name", Value: docs[0][1].Value}})
	require.True(t, mongo.IsDuplicateKeyError(err), "the index and its being unique are copied: %v", err)

	copied, err := to.Collection("many").Indexes().ListSpecifications(ctx)
	require.NoError(t, err)
	require.Len(t, copied, 2)

	require.ErrorIs(t, transfer.Copy(ctx, from, to, func(string, int64, int64) {}), transfer.ErrNotEmpty)
}

func read(t *testing.T, db *mongo.Database, name string) []bson.Raw {
	t.Helper()
	cursor, err := db.Collection(name).Find(t.Context(), bson.D{}, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
	require.NoError(t, err)
	var all []bson.Raw
	require.NoError(t, cursor.All(t.Context(), &all))
	return all
}

func TestVocabulary(t *testing.T) {
	t.Parallel()
	db := database(t)
	_, err := transfer.Vocabulary(t.Context(), db)
	require.ErrorContains(t, err, "orch")
	_, err = db.Collection("meta").InsertOne(t.Context(), bson.D{{Key: "_id", Value: "format"}, {Key: "vocabulary", Value: "prefect"}})
	require.NoError(t, err)
	vocab, err := transfer.Vocabulary(t.Context(), db)
	require.NoError(t, err)
	require.Equal(t, vocabulary.Prefect, vocab)
}
