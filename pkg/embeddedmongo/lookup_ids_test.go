package embeddedmongo_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// TestLookupsByIDsAndAnotherIndex: the far side has a list of ids, and the index of another field decides the rest. Its keys were
// read as index entries although they are those of documents, and the command failed.
func TestLookupsByIDsAndAnotherIndex(t *testing.T) {
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	db := cl.Database("d")
	w := newRelatedWorld(t.Context(), t, db, 0, 200, 40, true, false)
	for size := 1; size <= 40; size *= 3 {
		ids, wanted := A{}, map[string]bool{}
		for i := range size {
			ids = append(ids, owner(i))
		}
		for _, d := range w.docs["b"][:size] {
			wanted[fmt.Sprint(d["_id"])] = d["ws"] == int32(1) && d["opt"] == nil
		}
		for _, op := range []string{"$eq", "$ne"} {
			want := 0
			for _, d := range w.docs["a"] {
				if d["ws"] == int32(1) && wanted[fmt.Sprint(d["ref"])] == (op == "$ne") {
					want++
				}
			}
			cursor, err := db.Collection("a").Aggregate(t.Context(), A{
				M{"$match": M{"ws": 1}},
				M{"$lookup": D{
					{Key: "from", Value: "b"},
					{Key: "localField", Value: "ref"},
					{Key: "foreignField", Value: "_id"},
					{Key: "pipeline", Value: A{M{"$match": D{{Key: "ws", Value: 1}, {Key: "_id", Value: M{"$in": ids}}, {Key: "opt", Value: nil}}}}},
					{Key: "as", Value: "found"},
				}},
				M{"$match": M{"found": M{op: A{}}}},
				M{"$unset": "found"},
			})
			require.NoError(t, err)
			var docs []bson.M
			require.NoError(t, cursor.All(t.Context(), &docs))
			require.Len(t, docs, want, "%d ids, %s", size, op)
		}
	}
}
