package index

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// BenchmarkEntries derives the keys of an index that three elements of an array have entries in.
func BenchmarkEntries(b *testing.B) {
	id := bson.Binary{Subtype: bson.TypeBinaryUUID, Data: make([]byte, 16)}
	d := value.DocOf(bson.D{
		{Key: "_id", Value: id},
		{Key: "event", Value: "github.push"},
		{Key: "occurred", Value: int64(1_800_000_000_000_000)},
		{Key: "ws", Value: id},
		{Key: "ids", Value: bson.A{"github.repository.someone/something", "github.commit.0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c", "webhook.0d1a26e67d8f"}},
	})
	fields := []Field{NewField("ws", false), NewField("ids", false), NewField("occurred", false), NewField("_id", false)}
	b.ReportAllocs()
	for b.Loop() {
		if ks := Entries(d, fields); len(ks.Keys) != 3 {
			b.Fatal(len(ks.Keys))
		}
	}
}
