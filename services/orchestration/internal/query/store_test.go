package query

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
)

// database gives an empty database that lives as long as the test.
func database(tb testing.TB) *mongo.Database {
	tb.Helper()
	return mongotest.Open(tb, embeddedmongo.Options{NoSync: true}).Connect()
}

// envelope adds the fields that a store writes around a message.
func envelope(ws uuid.UUID, deleted bool) bson.D {
	if deleted { // A deleted document has left its workspace.
		return bson.D{{Key: "ws", Value: binary(uuid.New())}, {Key: "rev", Value: int64(1)}, {Key: "deleted_at", Value: int64(1)}}
	}
	return bson.D{{Key: "ws", Value: binary(ws)}, {Key: "rev", Value: int64(1)}}
}

func binary(u uuid.UUID) bson.Binary { return bson.Binary{Subtype: uuidSubtype, Data: u[:]} }

// makeIndexes creates the indexes of the server of the tests. It skips unique ones by default, because random documents violate them.
func makeIndexes(tb testing.TB, db *mongo.Database, unique bool) {
	tb.Helper()
	createIndexes(tb, db, Indexes(), unique)
}

func createIndexes(tb testing.TB, db *mongo.Database, indexes []Index, unique bool) {
	tb.Helper()
	for _, ix := range indexes {
		o := options.Index()
		switch {
		case ix.Unique && unique:
			o.SetUnique(true)
		case ix.TTL:
			o.SetExpireAfterSeconds(0)
		case ix.Sparse:
			o.SetSparse(true)
		}
		if ix.Partial != nil {
			o.SetPartialFilterExpression(ix.Partial)
		}
		model := mongo.IndexModel{Keys: ix.Keys, Options: o}
		_, err := db.Collection(string(ix.Collection)).Indexes().CreateOne(tb.Context(), model)
		require.NoError(tb, err, "%s %v", ix.Collection, ix.Keys)
	}
}
