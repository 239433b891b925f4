package store

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// writeErrors is the reply of a server to a batch of which it executed the first write.
func writeErrors(errs ...bson.D) bson.D {
	return bson.D{{Key: "ok", Value: 1.0}, {Key: "n", Value: int32(1)}, {Key: "nModified", Value: int32(1)}, {Key: "writeErrors", Value: errs}}
}

func writeError(index, code int32, more ...bson.E) bson.D {
	return append(bson.D{{Key: "index", Value: index}, {Key: "code", Value: code}, {Key: "errmsg", Value: "refused"}}, more...)
}

// TestBatchesThatASteppingDownPrimaryInterrupts reads the replies of a server that executed a part of a batch.
func TestBatchesThatASteppingDownPrimaryInterrupts(t *testing.T) {
	t.Parallel()
	const duplicateKey, interrupted = 11000, 11602
	taken := writeError(0, duplicateKey,
		bson.E{Key: "keyPattern", Value: bson.D{{Key: "tags", Value: int32(1)}}}, bson.E{Key: "keyValue", Value: bson.D{{Key: "tags", Value: "one of a list"}}})
	unconfirmed := append(writeErrors(), bson.E{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: int32(interrupted)}, {Key: "errmsg", Value: "stepped down"}}})
	flow := func() *orchv1.Flow { return &orchv1.Flow{Id: uuid.NewString(), Name: "f"} }
	for name, c := range map[string]struct {
		reply bson.D
		want  error // Of batches. Nil: the batch says which writes met a taken key.
		one   error // Of one insert.
	}{
		"step-down":                   {writeErrors(writeError(1, interrupted)), ErrUnavailable, nil},
		"step-down after a duplicate": {writeErrors(taken, writeError(1, interrupted)), ErrUnavailable, nil},
		"unconfirmed":                 {unconfirmed, ErrUnavailable, ErrUnavailable},
		"duplicate in an array":       {writeErrors(taken), nil, ErrDuplicate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, server, err := scriptedStore(t, built("7.0.15", 7, 0, 15, 0), primary, map[string]bson.D{
				"insert": c.reply, "update": c.reply, "delete": c.reply,
			})
			require.NoError(t, err)
			defer server.wg.Wait()
			defer func() { require.NoError(t, s.Close(t.Context())) }()
			flows := NewCollection(s, query.Flow, &orchv1.Flow{})
			ws := uuid.New()

			positions, err := InsertAll(t.Context(), flows, ws, []*orchv1.Flow{flow(), flow()})
			require.ErrorIs(t, err, c.want)
			if c.want == nil {
				require.Equal(t, []int{0}, positions)
			}
			doc, err := NewDocument(ws, flow(), s.Now())
			require.NoError(t, err)
			require.ErrorIs(t, flows.InsertNew(t.Context(), []bson.Raw{doc, doc}), c.want)

			replacement := func() Replacement[*orchv1.Flow] {
				read := flow()
				next := proto.Clone(read).(*orchv1.Flow)
				next.Name = "g"
				return Replacement[*orchv1.Flow]{Version[*orchv1.Flow]{Message: read, Revision: 1}, next}
			}
			_, complete, err := ReplaceAll(t.Context(), flows, ws, []Replacement[*orchv1.Flow]{replacement(), replacement()})
			require.ErrorIs(t, err, c.want)
			require.False(t, complete, "a batch that is written in part is read again")

			if c.want != nil {
				require.ErrorIs(t, s.Done(t.Context(), query.Flow, Outbox{DocumentKey: DocumentKey{ID: uuid.New()}}, Outbox{DocumentKey: DocumentKey{ID: uuid.New()}}), ErrUnavailable)
			}
			if c.one != nil {
				require.ErrorIs(t, flows.Insert(t.Context(), ws, flow()), c.one)
			}
		})
	}
}
