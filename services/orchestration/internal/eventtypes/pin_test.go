package eventtypes

import (
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	wire "github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/action"
)

// pin pins a schema of the name, or the inferred one, and returns the status of the response.
func (w *world) pin(name, schema string) int32 {
	w.t.Helper()
	var pin *orchv1.EventTypePin
	if schema != "" {
		pin = &orchv1.EventTypePin{Schema: []byte(schema)}
	}
	_, err := w.PinEventType(w.ctx(), &orchv1.PinEventTypeRequest{Id: w.all()[name].GetId(), Pin: pin})
	return rpc.HTTPError(err).GetStatus()
}

// annotated returns an event with a payload as the consumers see it.
func (w *world) annotated(name, payload string) *orchv1.ReceivedEvent {
	w.t.Helper()
	sent, err := wire.NewWriter(vocabulary.Orch).Write(&orchv1.ReceivedEvent{
		Id: uuid.NewString(), Event: name, Occurred: timestamppb.New(noon), Received: timestamppb.New(noon), Payload: []byte(payload),
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "order.1"}},
		Related:  []*orchv1.RelatedResource{{Labels: map[string]string{"orch.resource.id": "shop.1", "orch.resource.role": "shop"}}},
	}, w.ws)
	require.NoError(w.t, err)
	batch := []broker.Event{sent}
	for range 2 { // A redelivered event has one mark.
		require.NoError(w.t, w.Annotate(w.t.Context(), batch))
	}
	event, _, err := wire.FromBroker(batch[0])
	require.NoError(w.t, err)
	return event
}

func TestEventsThatViolateAPinnedSchemaAreMarked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	evaluator := w.replica()
	w.observe("order.paid", `{"total":1}`)
	id := w.recorded()["order.paid"].GetId()
	require.Len(t, evaluator.annotated("order.paid", `{"total":"x"}`).GetRelated(), 1)
	require.EqualValues(t, 200, w.pin("order.paid", ""))
	pinned := w.all()["order.paid"]
	require.Equal(t, string(pinned.GetSchema()), string(pinned.GetPinnedSchema()))
	require.Nil(t, pinned.Expires)

	w.clock.Advance(freshFor)
	require.Len(t, evaluator.annotated("order.paid", `{"total":2}`).GetRelated(), 1)
	event := evaluator.annotated("order.paid", `{"total":"x"}`)
	require.Len(t, event.GetRelated(), 2)
	require.Equal(t, map[string]string{
		"orch.resource.id": "orch.event-type." + id, "orch.resource.role": "violated-schema", "orch.resource.name": "order.paid",
		"orch.schema.path": "/total", "orch.schema.reason": "is of type string instead of integer",
	}, event.GetRelated()[1].GetLabels())
	require.Len(t, evaluator.annotated("order.sent", `{"total":"x"}`).GetRelated(), 1, "another name")

	_, err := w.UnpinEventType(w.ctx(), &orchv1.UnpinEventTypeRequest{Id: id})
	require.NoError(t, err)
	require.Equal(t, w.clock.Now().Add(unseenAfter).UnixMicro(), w.all()["order.paid"].GetExpires())
	w.clock.Advance(freshFor)
	require.Len(t, evaluator.annotated("order.paid", `{"total":"x"}`).GetRelated(), 1, "not pinned any more")

	require.EqualValues(t, 200, w.pin("order.paid", ""))
	w.clock.Advance(freshFor)
	require.Len(t, evaluator.annotated("order.paid", `{"total":"x"}`).GetRelated(), 2)
	_, err = w.DeleteEventType(w.ctx(), &orchv1.DeleteEventTypeRequest{Id: id})
	require.NoError(t, err)
	w.clock.Advance(freshFor)
	require.Len(t, evaluator.annotated("order.paid", `{"total":"x"}`).GetRelated(), 1, "deleted")
}

// The filter of the documentation chooses the events that satisfy the pinned schema.
func TestFiltersSeeViolations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.observe("order.paid", `{"total":1}`)
	w.Record(t.Context())
	require.EqualValues(t, 200, w.pin("order.paid", ""))
	engine := action.NewEngine("", vocabulary.Orch)
	filter, err := engine.CachedExpression(`event.resource_in_role["violated-schema"] is not defined`)
	require.NoError(t, err)
	for payload, want := range map[string]bool{`{"total":2}`: true, `{}`: false} {
		passes, err := filter.Test(t.Context(), jinja.Vars{"event": action.EventValue(vocabulary.Orch, "", w.annotated("order.paid", payload))})
		require.NoError(t, err)
		require.Equal(t, want, passes, payload)
	}
}

func TestAPinnedSchemaReplacesAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.observe("order.paid")
	require.EqualValues(t, 409, w.pin("order.paid", ""), "no sample")
	require.EqualValues(t, 200, w.pin("order.paid", `{"required":["a"]}`))
	require.Len(t, w.annotated("order.paid", `{}`).GetRelated(), 2)
	w.clock.Advance(time.Second)
	require.EqualValues(t, 200, w.pin("order.paid", `{"required":["b"]}`))
	require.Equal(t, `lacks the required property "b"`, w.annotated("order.paid", `{}`).GetRelated()[1].GetLabels()["orch.schema.reason"])
	w.observe("order.paid", `{"c":1}`)
	require.Contains(t, string(w.recorded()["order.paid"].GetSchema()), `"c"`, "inference goes on")
	w.clock.Advance(2 * unseenAfter)
	deleted, err := w.Expire(t.Context())
	require.NoError(t, err)
	require.Zero(t, deleted)
}

func TestSchemasThatCannotBePinned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.observe("order.paid", `{}`)
	for name, schema := range map[string]string{
		"invalid": `{"type":"date"}`, "unsupported": `{"unevaluatedProperties":false}`, "external reference": `{"$ref":"https://example.com/"}`,
	} {
		require.EqualValues(t, 422, w.pin("order.paid", schema), name)
	}
	_, err := w.PinEventType(w.ctx(), &orchv1.PinEventTypeRequest{Id: uuid.NewString()})
	require.EqualValues(t, 404, rpc.HTTPError(err).GetStatus())
	large := `{"allOf":[` + strings.Repeat("true,", maxPinned/4/int(unsafe.Sizeof(jsonschema.Schema{}))) + `true]}`
	for i, name := range []string{"a", "b", "c", "d"} {
		w.observe(name, `{}`)
		status := w.pin(name, large)
		require.Equal(t, i == 3, status == 409, "the pinned schemas are bounded together")
	}
	require.EqualValues(t, 200, w.pin("a", large), "a schema does not count beside itself")
}

// Replicas that pin at the same time may together exceed the bound of a workspace.
func TestMemoryOfPinnedSchemasIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.observe("order.paid", `{}`)
	require.EqualValues(t, 200, w.pin("order.paid", `{"required":["a"]}`))
	w.register.workspaces[w.ws].bytes = maxRegisterBytes - 2*entrySize // The memory of other names.
	require.Len(t, w.annotated("order.paid", `{}`).GetRelated(), 1)
	require.LessOrEqual(t, w.register.workspaces[w.ws].bytes, maxRegisterBytes)
}
