//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
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

const (
	// fewPending and manyPending are the effects that wait for the broker; the second number is that of make e2e-faults.
	fewPending, manyPending = 5_000, 100_000
	// drainedWithin is how long they may take after the outage.
	drainedWithin = time.Minute
	// backlogEvent is the name of the events that they publish.
	backlogEvent = "orch.backlog.pending"
)

// TestOutboxDrainsAfterAnOutageOfTheBroker cuts the broker off while effects wait in the store, each in its own document and
// with an event. Afterwards all events are published once, and nobody has to wake their documents.
func TestOutboxDrainsAfterAnOutageOfTheBroker(t *testing.T) {
	infra := StartInfra(t, programs, t.TempDir())
	broker := testkit.StartChaos(t, infra.NATSAddress)
	o := StartServices(t, programs, infra, "ORCH_NATS_URL="+infra.NATSURLAt(broker.Addr()))
	client := &Client{HTTP: &http.Client{Timeout: 15 * time.Second}, Ledger: NewLedger()}
	t.Cleanup(client.HTTP.CloseIdleConnections)
	store, err := mongo.Connect(options.Client().ApplyURI(infra.MongoURI()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Disconnect(t.Context())) })
	flows := store.Database("orch").Collection("flow")

	pending, away := fewPending, 10*time.Second
	if os.Getenv("ORCH_TEST_FAULTS") != "" {
		pending, away = manyPending, time.Minute
	}
	broker.Cut()
	for written := 0; written < pending; written += 1000 {
		docs := make([]any, 1000)
		for i := range docs {
			docs[i] = pendingFlow(t, written+i)
		}
		_, err := flows.InsertMany(t.Context(), docs)
		require.NoError(t, err)
	}
	wait(t.Context(), away)
	recorded, err := flows.CountDocuments(t.Context(), bson.D{{Key: "outbox_next_at", Value: bson.D{{Key: "$exists", Value: true}}}})
	require.NoError(t, err)
	require.Less(t, recorded, int64(pending/10), "the outage is not recorded in each document")

	broker.Heal()
	began := time.Now()
	require.Eventually(t, func() bool {
		left, err := flows.CountDocuments(t.Context(), bson.D{{Key: "outbox.at", Value: bson.D{{Key: "$gt", Value: int64(0)}}}}, options.Count().SetLimit(1))
		return err == nil && left == 0
	}, 2*drainedWithin, 100*time.Millisecond)
	took := time.Since(began)
	t.Logf("%d effects were executed %s after the outage", pending, took.Round(time.Millisecond))
	require.LessOrEqual(t, took, drainedWithin)
	require.Eventually(t, func() bool { return client.countEvents(t.Context(), o, backlogEvent) == pending }, 2*drainedWithin, time.Second)
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
