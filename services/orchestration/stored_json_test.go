package orchestration_test

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/protobson"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// storedMessages are the messages of collections.
var storedMessages = map[query.Collection]proto.Message{
	query.Flow: &orchv1.Flow{}, query.FlowRun: &orchv1.FlowRun{}, query.TaskRun: &orchv1.TaskRun{}, query.Deployment: &orchv1.Deployment{},
	query.FlowRunState: &orchv1.FlowRunStateRecord{}, query.TaskRunState: &orchv1.TaskRunStateRecord{}, query.Log: &orchv1.Log{},
	query.Artifact: &orchv1.Artifact{}, query.Variable: &orchv1.Variable{}, query.WorkPool: &orchv1.WorkPool{}, query.WorkQueue: &orchv1.WorkQueue{},
	query.BlockType: &orchv1.BlockType{}, query.BlockSchema: &orchv1.BlockSchema{}, query.Automation: &orchv1.Automation{},
	query.ConcurrencyLimit: &orchv1.ConcurrencyLimitV2{}, query.Webhook: &orchv1.Webhook{}, query.RetentionPolicy: &orchv1.RetentionPolicy{},
	query.RunTimeouts: &orchv1.RunTimeouts{}, query.EventType: &orchv1.EventType{}, query.Destination: &orchv1.Destination{}, query.DestinationDelivery: &orchv1.DestinationDelivery{},
	query.Backfill: &orchv1.Backfill{},
}

// computedNames are the fields of a message that are in REST and not stored.
func computedNames(m proto.Message) (names []protoreflect.Name) {
	fields := m.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if fd := fields.Get(i); restjson.Computed(fd) && !restjson.Internal(fd) {
			names = append(names, fd.Name())
		}
	}
	return names
}

// checkStoredJSON requires of every document that a test stored: encoding it without a message, where that is possible, writes
// what encoding its message does.
func (d *domain) checkStoredJSON() {
	ctx := context.WithoutCancel(d.t.Context())
	for name, empty := range storedMessages {
		computed := computedNames(empty)
		encoder, err := protobson.NewJSONEncoder(empty, func(_ protobson.Stored, _ time.Time, out [][]byte) bool {
			for i, field := range computed {
				m := empty.ProtoReflect().New()
				text, err := restjson.AppendField(nil, m, m.Descriptor().Fields().ByName(field))
				if err != nil {
					return false
				}
				out[i] = append(out[i], text...)
			}
			return true
		}, computed...)
		if err != nil {
			continue
		}
		cursor, err := d.store.Connect().Collection(string(name)).Find(ctx, bson.D{})
		require.NoError(d.t, err)
		for cursor.Next(ctx) {
			got, ok := encoder.AppendDocument(nil, cursor.Current, time.Time{})
			if !ok {
				continue
			}
			m := empty.ProtoReflect().New().Interface()
			require.NoError(d.t, protobson.UnmarshalDocument(cursor.Current, m))
			want, err := restjson.Marshal(m)
			require.NoError(d.t, err)
			require.Equal(d.t, string(want), string(got), name)
		}
		require.NoError(d.t, cursor.Close(ctx))
	}
}
