package transfer

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/orch-project/orch/pkg/vocabulary"
)

// Vocabulary returns the vocabulary of a database, as the orchestration service marked it.
func Vocabulary(ctx context.Context, db *mongo.Database) (vocabulary.Vocabulary, error) {
	var found struct {
		Vocabulary string `bson:"vocabulary"`
	}
	if err := db.Collection("meta").FindOne(ctx, bson.D{{Key: "_id", Value: "format"}}).Decode(&found); err != nil {
		return vocabulary.Vocabulary{}, fmt.Errorf("read mark of database %s: %w", db.Name(), err)
	}
	return vocabulary.ParseStored(found.Vocabulary)
}
