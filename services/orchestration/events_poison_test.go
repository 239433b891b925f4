package orchestration_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// refuseArrays creates an index that makes the database refuse documents with two arrays, and returns what drops it.
func (d *domain) refuseArrays(collection query.Collection, one, other string) (mend func()) {
	d.t.Helper()
	indexes := d.store.Connect().Collection(string(collection)).Indexes()
	const name = "refuses arrays"
	_, err := indexes.CreateOne(d.t.Context(), mongo.IndexModel{
		Keys: bson.D{{Key: one, Value: 1}, {Key: other, Value: 1}}, Options: options.Index().SetName(name),
	})
	require.NoError(d.t, err)
	return func() { // A server that builds another index of the collection refuses it.
		eventually(d.t, func() bool { return indexes.DropOne(d.t.Context(), name) == nil }, "the index is dropped")
	}
}

func thing(id string, related ...string) *orchv1.Event {
	e := &orchv1.Event{
		Id: uuid.NewString(), Event: "test.thing", Occurred: timestamppb.Now(),
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": id}}, Payload: []byte(`{}`),
	}
	for _, r := range related {
		e.Related = append(e.Related, &orchv1.RelatedResource{Labels: map[string]string{"orch.resource.id": r, "orch.resource.role": "part"}})
	}
	return e
}

func (d *domain) deadLetters() []*orchv1.DeadLetter {
	d.t.Helper()
	return call[*orchv1.DeadLetterList](d, orchv1.DeadLetterService_ReadDeadLetters_FullMethodName, &orchv1.ReadDeadLettersRequest{}).GetDeadLetters()
}

// Finding 5 of the failure lane: one event that the database refuses returned its whole frame for ever. Now it becomes a dead
// letter with its own reason, and the other events of its frame are stored.
func TestAnEventThatTheDatabaseRefusesDoesNotReturnItsFrame(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	mend := d.refuseArrays(query.Event, "related", "resource_ids")
	bad := thing("bad", "a", "b")
	events := []*orchv1.Event{thing("first"), bad}
	for range 20 {
		events = append(events, thing("healthy"))
	}
	call[*emptypb.Empty](d, orchv1.EventService_CreateEvents_FullMethodName, &orchv1.CreateEventsRequest{Events: events})
	eventually(t, func() bool { return d.events(testEvents()).GetTotal() == int64(len(events)-1) }, "all but the bad event are stored")
	eventually(t, func() bool { return len(d.deadLetters()) == 1 }, "the bad event is a dead letter")
	letter := d.deadLetters()[0]
	require.Equal(t, bad.GetId(), letter.GetEventId())
	require.Equal(t, "persist", letter.GetKind())
	require.Contains(t, letter.GetReason(), "parallel arrays")

	mend()
	call[*emptypb.Empty](d, orchv1.DeadLetterService_RetryDeadLetter_FullMethodName, &orchv1.RetryDeadLetterRequest{Id: letter.GetId()})
	eventually(t, func() bool { return d.events(testEvents()).GetTotal() == int64(len(events)) }, "the mended event is stored")
	require.Empty(t, d.deadLetters())
}

// Automations record in buckets what they counted. An event whose bucket the database refuses is rejected alone, and the
// automation counts the others.
func TestAnEventThatAnAutomationCannotCountDoesNotReturnItsBatch(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	mend := d.refuseArrays(query.AutomationBucket, "key", "last.related")
	d.automation(`{"name":"pairs","trigger":{"type":"event","expect":["test.thing"],"for_each":["orch.resource.id"],
		"posture":"Reactive","threshold":2,"within":600},"actions":[{"type":"do-nothing"}]}`)
	d.automation(`{"name":"silence","trigger":{"type":"event","expect":["test.thing"],"for_each":["orch.resource.id"],
		"posture":"Proactive","threshold":1,"within":3600},"actions":[{"type":"do-nothing"}]}`) // Its buckets hold the last event.
	fired := func(want int) {
		t.Helper()
		eventually(t, func() bool {
			return d.events(named("orch.automation.triggered")).GetTotal() == int64(want)
		}, "the automation fired for each pair")
	}
	bad := thing("bad", "a", "b")
	call[*emptypb.Empty](d, orchv1.EventService_CreateEvents_FullMethodName, &orchv1.CreateEventsRequest{
		Events: []*orchv1.Event{thing("first"), bad, thing("second"), thing("first"), thing("second")},
	})
	fired(2)
	eventually(t, func() bool { return len(d.deadLetters()) == 1 }, "the bad event is a dead letter")
	letter := d.deadLetters()[0]
	require.Equal(t, bad.GetId(), letter.GetEventId())
	require.Equal(t, "automations", letter.GetKind())
	require.Contains(t, letter.GetReason(), "parallel arrays")

	mend()
	call[*emptypb.Empty](d, orchv1.EventService_CreateEvents_FullMethodName, &orchv1.CreateEventsRequest{Events: []*orchv1.Event{thing("bad")}})
	call[*emptypb.Empty](d, orchv1.DeadLetterService_RetryDeadLetter_FullMethodName, &orchv1.RetryDeadLetterRequest{Id: letter.GetId()})
	fired(3)
	require.Empty(t, d.deadLetters())
}

func named(prefix string) *orchv1.EventFilter {
	return &orchv1.EventFilter{Event: &orchv1.EventNameFilter{Prefix: &orchv1.StringList{Values: []string{prefix}}}}
}
