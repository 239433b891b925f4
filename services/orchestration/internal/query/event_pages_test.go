package query

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// A page of events costs its events, however many precede it, in both orders and with each filter that an index serves.
func TestPagesOfEventsCostTheirEvents(t *testing.T) {
	t.Parallel()
	db, ws := database(t), uuid.New()
	for _, ix := range Indexes() {
		if ix.Collection == Event && !ix.TTL {
			_, err := db.Collection(string(Event)).Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: ix.Keys})
			require.NoError(t, err)
		}
	}
	const all, page, atOnce = 12_000, 50, 3 // Events of one moment.
	docs := make([]any, all)
	for i := range docs {
		docs[i] = append(envelope(ws, false),
			bson.E{Key: "_id", Value: binary(numbered(i))}, bson.E{Key: "occurred", Value: int64(i / atOnce)},
			bson.E{Key: "event", Value: "a"}, bson.E{Key: "resource_id", Value: "r"}, bson.E{Key: "resource_ids", Value: bson.A{"r", fmt.Sprint(i)}})
	}
	_, err := db.Collection(string(Event)).InsertMany(t.Context(), docs)
	require.NoError(t, err)
	for _, filter := range []string{`{}`, `{"event": {"name": ["a"]}}`, `{"resource": {"id": ["r"]}}`, `{"any_resource": {"id": ["r"]}}`} {
		f := parse(t, &orchv1.EventFilter{}, filter)
		f.Occurred = parse(t, &orchv1.EventOccurredFilter{}, `{"since": "1970-01-01T00:00:00Z", "until": "1970-01-02T00:00:00Z"}`)
		compiled, err := CompileEvents(f, EventOptions{Vocabulary: vocabulary.Orch, Workspace: ws})
		require.NoError(t, err)
		for _, order := range []orchv1.EventOrder{orchv1.EventOrder_EVENT_ORDER_ASC, orchv1.EventOrder_EVENT_ORDER_DESC} {
			for _, last := range []int{1, all / 2, all - page - 2} { // In the order of the page.
				i, step := last, 1
				if order == orchv1.EventOrder_EVENT_ORDER_DESC {
					i, step = all-1-last, -1
				}
				after := EventsBeyond(compiled, order, int64(i/atOnce), binary(numbered(i)))
				command := bson.D{
					{Key: "find", Value: string(Event)}, {Key: "filter", Value: Scope(ws, after)}, {Key: "sort", Value: EventSort(order)}, {Key: "limit", Value: page},
				}
				var found struct {
					Cursor struct {
						FirstBatch []struct {
							ID bson.Binary `bson:"_id"`
						} `bson:"firstBatch"`
					}
				}
				require.NoError(t, db.RunCommand(t.Context(), append(command, bson.E{Key: "batchSize", Value: page})).Decode(&found))
				require.Len(t, found.Cursor.FirstBatch, page)
				for k, doc := range found.Cursor.FirstBatch {
					require.Equal(t, binary(numbered(i+step*(k+1))), doc.ID, "%s, %s, behind %d", filter, order, last)
				}
				var x struct {
					ExecutionStats struct{ TotalKeysExamined, TotalDocsExamined int64 } `bson:"executionStats"`
				}
				require.NoError(t, db.RunCommand(t.Context(), bson.D{{Key: "explain", Value: command}, {Key: "verbosity", Value: "executionStats"}}).Decode(&x))
				require.LessOrEqual(t, x.ExecutionStats.TotalKeysExamined, int64(page+atOnce+2), "%s, %s, behind %d", filter, order, last)
				require.LessOrEqual(t, x.ExecutionStats.TotalDocsExamined, int64(page+atOnce+2), "%s, %s, behind %d", filter, order, last)
			}
		}
	}
}
