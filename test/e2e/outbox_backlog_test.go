//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// backlogEvent is the name of the events that the pending effects publish.
const backlogEvent = "orch.backlog.pending"

// left matches the documents with pending effects: those without a recorded failure and the others, each by a range of the index.
var left = []bson.D{
	{{Key: "outbox_next_at", Value: nil}, {Key: "outbox.at", Value: bson.D{{Key: "$gt", Value: int64(0)}}}},
	{{Key: "outbox_next_at", Value: bson.D{{Key: "$gt", Value: int64(0)}}}},
}

// TestOutboxDrainsAfterAnOutageOfTheBroker cuts the broker off while effects wait in the store, each in its own document and
// with an event. Afterwards all events are published once, and nobody has to wake their documents.
func TestOutboxDrainsAfterAnOutageOfTheBroker(t *testing.T) {
	scale := requireFaultScale(t)
	infra := StartInfra(t, programs, t.TempDir())
	broker := testkit.StartChaos(t, infra.NATSAddress)
	StartServices(t, programs, infra, "ORCH_NATS_URL="+infra.NATSURLAt(broker.Addr()))
	store, err := mongo.Connect(options.Client().ApplyURI(infra.MongoURI()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Disconnect(t.Context())) })
	flows := store.Database("orch").Collection("flow")

	pending := scale.pending
	broker.Cut()
	cut := time.Now()
	for written := 0; written < pending; written += 1000 {
		docs := make([]any, 1000)
		for i := range docs {
			docs[i] = pendingFlow(t, written+i)
		}
		_, err := flows.InsertMany(t.Context(), docs)
		require.NoError(t, err)
	}
	wait(t.Context(), scale.brokerAway-time.Since(cut))
	recorded, err := flows.CountDocuments(t.Context(), bson.D{{Key: "outbox_next_at", Value: bson.D{{Key: "$exists", Value: true}}}})
	require.NoError(t, err)
	require.Less(t, recorded, int64(pending/10), "the outage is not recorded in each document")

	broker.Heal()
	row := FaultRow{Fault: "broker away", Form: "three processes", Lasts: time.Since(cut), Acknowledged: pending}
	began := time.Now()
	require.Eventually(t, func() bool {
		for _, filter := range left {
			n, err := flows.CountDocuments(t.Context(), filter, options.Count().SetLimit(1))
			if err != nil || n > 0 {
				return false
			}
		}
		return true
	}, 5*doneWithin, 100*time.Millisecond)
	row.Done = time.Since(began)
	row.Remark = fmt.Sprintf("%d pending effects, %.0f/s", pending, float64(pending)/row.Done.Seconds())
	// Totals of the API have a bound, so this counts in the store.
	stored := int64(0)
	require.Eventually(t, func() bool {
		stored, err = store.Database("orch").Collection("event").CountDocuments(t.Context(), bson.D{{Key: "event", Value: backlogEvent}})
		return err == nil && stored >= int64(pending)
	}, 2*doneWithin, time.Second)
	row.Doubled = int(stored) - pending
	faultTable.Add(t, row)
}

// pendingFlow is a flow whose creation has not been published yet.
func pendingFlow(t *testing.T, number int) bson.D {
	t.Helper()
	id, at := uuid.New(), time.Now().Add(-time.Minute)
	event := &orchv1.ReceivedEvent{
		Id: uuid.NewString(), Occurred: timestamppb.New(at), Received: timestamppb.New(at), Event: backlogEvent,
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "orch.flow." + id.String()}},
	}
	ws := request.DefaultWorkspace
	body, err := proto.MarshalOptions{}.MarshalAppend(append([]byte(nil), ws[:]...), event)
	require.NoError(t, err)
	return bson.D{
		{Key: "_id", Value: bsonUUID(id)},
		{Key: "ws", Value: bsonUUID(ws)},
		{Key: "rev", Value: int64(1)},
		{Key: "name", Value: fmt.Sprint("backlog ", number)},
		{Key: "created", Value: at.UnixMicro()},
		{Key: "updated", Value: at.UnixMicro()},
		{Key: "outbox", Value: bson.A{bson.D{
			{Key: "id", Value: bsonUUID(uuid.New())},
			{Key: "at", Value: at.UnixMicro()},
			{Key: "kind", Value: "event"},
			{Key: "body", Value: bson.Binary{Data: body}},
		}}},
	}
}
