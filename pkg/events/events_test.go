package events_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var vocab = vocabulary.Orch

func resource(id string, more ...string) map[string]string {
	labels := map[string]string{vocab.ResourceID(): id}
	for i := 0; i < len(more); i += 2 {
		labels[more[i]] = more[i+1]
	}
	return labels
}

func many(n int) []string {
	var pairs []string
	for i := range n {
		pairs = append(pairs, "label-"+strings.Repeat("x", i), "")
	}
	return pairs
}

func TestValidate(t *testing.T) {
	t.Parallel()
	role := vocab.ResourceRole()
	related := func(n int, labels map[string]string) (list []*orchv1.RelatedResource) {
		for range n {
			list = append(list, &orchv1.RelatedResource{Labels: labels})
		}
		return list
	}
	good := func() *orchv1.Event {
		return &orchv1.Event{Id: uuid.Max.String(), Occurred: &timestamppb.Timestamp{}, Event: "e", Resource: &orchv1.Resource{Labels: resource("r")}}
	}
	for name, c := range map[string]struct {
		change func(e *orchv1.Event)
		want   []string // The field errors, by location and type.
	}{
		"plain":                   {func(*orchv1.Event) {}, nil},
		"longest name":            {func(e *orchv1.Event) { e.Event = strings.Repeat("é", 1024) }, nil},
		"name too long":           {func(e *orchv1.Event) { e.Event = strings.Repeat("é", 1025) }, []string{"event: Event name must be at most 1024 characters"}},
		"no name":                 {func(e *orchv1.Event) { e.Event = "" }, []string{"event: String should have at least 1 character"}},
		"nil id":                  {func(e *orchv1.Event) { e.Id = uuid.Nil.String() }, []string{"id: The id must not be nil"}},
		"no resource":             {func(e *orchv1.Event) { e.Resource = nil }, []string{"resource: Resources must include the orch.resource.id label"}},
		"empty id":                {func(e *orchv1.Event) { e.Resource.Labels = resource("") }, []string{"resource: The orch.resource.id label must be non-empty"}},
		"blank id":                {func(e *orchv1.Event) { e.Resource.Labels = resource(" ") }, nil},
		"most labels":             {func(e *orchv1.Event) { e.Resource.Labels = resource("r", many(499)...) }, nil},
		"too many labels":         {func(e *orchv1.Event) { e.Resource.Labels = resource("r", many(500)...) }, []string{"resource: The maximum number of labels per resource is 500"}},
		"most related":            {func(e *orchv1.Event) { e.Related = related(100, resource("r", role, "x")) }, nil},
		"too many related":        {func(e *orchv1.Event) { e.Related = related(101, resource("r", role, "x")) }, []string{"related: The maximum number of related resources is 100"}},
		"related without role":    {func(e *orchv1.Event) { e.Related = related(1, resource("r")) }, []string{"related.0: Related Resources must include the orch.resource.role label"}},
		"related with empty role": {func(e *orchv1.Event) { e.Related = related(1, resource("r", role, "")) }, []string{"related.0: The orch.resource.role label must be non-empty"}},
		"1.4 MB":                  {func(e *orchv1.Event) { e.Payload = []byte(`{"x":"` + strings.Repeat("x", 1_400_000) + `"}`) }, nil},
		"1.6 MB":                  {func(e *orchv1.Event) { e.Payload = []byte(`{"x":"` + strings.Repeat("x", 1_600_000) + `"}`) }, []string{"The maximum size of an event is 1500000 bytes"}},
		"1.6 MB once escaped": {func(e *orchv1.Event) {
			e.Resource.Labels["x"], e.Resource.Labels["y"], e.Resource.Labels["z"] = strings.Repeat("\x01", 90_000), strings.Repeat("\x01", 90_000), strings.Repeat("\x01", 90_000)
		}, []string{"The maximum size of an event is 1500000 bytes"}},
		"longest label": {func(e *orchv1.Event) { e.Resource.Labels["x"] = strings.Repeat("é", 131_072) }, nil},
		"an unreadable state of a task run": {func(e *orchv1.Event) {
			e.Event, e.Payload = vocab.Name("task-run", "Running"), []byte(`{"validated_state":{"type":"DREAMING"}}`)
			e.Resource.Labels = resource(vocab.Name("task-run", uuid.Max.String()), vocab.Name("orchestration"), "client")
		}, []string{"payload: the event describes no task run state: its task run: task_run is missing"}},
		"label too long":         {func(e *orchv1.Event) { e.Resource.Labels["x"] = strings.Repeat("é", 131_073) }, []string{"resource: A label must have at most 131072 characters"}},
		"label name too long":    {func(e *orchv1.Event) { e.Resource.Labels[strings.Repeat("x", 131_073)] = "" }, []string{"resource: A label must have at most 131072 characters"}},
		"related label too long": {func(e *orchv1.Event) { e.Related = related(1, resource("r", role, strings.Repeat("x", 1_400_000))) }, []string{"related.0: A label must have at most 131072 characters"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := good()
			c.change(e)
			var got []string
			for _, f := range events.Validate(vocab, e, events.DefaultLimits()) {
				got = append(got, f.Error())
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	e := &orchv1.ReceivedEvent{
		Resource: &orchv1.Resource{Labels: resource("a")},
		Related: []*orchv1.RelatedResource{
			{Labels: resource("b")}, {Labels: resource("a")}, {Labels: resource("c")}, {Labels: resource("b")},
		},
	}
	events.Index(vocab, e)
	require.Equal(t, "a", e.GetResourceId())
	require.Equal(t, []string{"a", "b", "c"}, e.GetResourceIds())
}

// drawEvent draws an event that passes Validate.
func drawEvent(t *rapid.T) *orchv1.ReceivedEvent {
	labels := rapid.MapOfN(rapid.String(), rapid.String(), 0, 5)
	at := rapid.Int64Range(-60_000_000_000, 250_000_000_000)
	e := &orchv1.ReceivedEvent{
		Id:       uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")).String(),
		Event:    rapid.StringN(1, 100, -1).Draw(t, "name"),
		Occurred: &timestamppb.Timestamp{Seconds: at.Draw(t, "occurred"), Nanos: 1000 * rapid.Int32Range(0, 999_999).Draw(t, "micros")},
		Received: &timestamppb.Timestamp{Seconds: at.Draw(t, "received")},
		Resource: &orchv1.Resource{Labels: labels.Draw(t, "labels")},
		Payload:  []byte(`{}`),
	}
	e.Resource.Labels[vocab.ResourceID()] = rapid.StringN(1, 50, -1).Draw(t, "resource")
	for range rapid.IntRange(0, 3).Draw(t, "related") {
		r := labels.Draw(t, "labels")
		r[vocab.ResourceID()], r[vocab.ResourceRole()] = "x", "y"
		e.Related = append(e.Related, &orchv1.RelatedResource{Labels: r})
	}
	if rapid.Bool().Draw(t, "follows") {
		follows := uuid.Max.String()
		e.Follows = &follows
	}
	return e
}

func TestTheBrokerCarriesEventsUnchanged(t *testing.T) {
	t.Parallel()
	ws := uuid.MustParse("01890000-0000-7000-8000-000000000003")
	rapid.Check(t, func(t *rapid.T) {
		want := drawEvent(t)
		b, err := events.ToBroker(vocab, want, ws)
		require.NoError(t, err)
		got, workspace, err := events.FromBroker(b)
		require.NoError(t, err)
		require.Equal(t, ws, workspace)
		require.Empty(t, cmp.Diff(want, got, protocmp.Transform()))
	})
}

// A receiver's result does not depend on earlier events, field errors included.
func TestReceiver(t *testing.T) {
	t.Parallel()
	ws := uuid.MustParse("01890000-0000-7000-8000-000000000003")
	rapid.Check(t, func(t *rapid.T) {
		used := events.NewReceiver(vocab, ws)
		for range 3 {
			e, at := drawEvent(t), time.UnixMicro(rapid.Int64Range(0, 1<<52).Draw(t, "now"))
			sent := &orchv1.Event{
				Id: e.GetId(), Event: e.GetEvent(), Occurred: e.GetOccurred(), Resource: e.GetResource(), Related: e.GetRelated(),
				Payload: e.GetPayload(), Follows: e.Follows,
			}
			if rapid.IntRange(0, 3).Draw(t, "spoil") == 0 {
				delete(sent.Resource.Labels, vocab.ResourceID())
			}
			text, err := restjson.Marshal(sent)
			require.NoError(t, err)
			got, fieldErrors, err := used.Read(text, at)
			want, wantErrors, wantErr := events.NewReceiver(vocab, ws).Take(sent, at)
			require.NoError(t, err)
			require.NoError(t, wantErr)
			require.Equal(t, wantErrors, fieldErrors)
			require.Equal(t, events.Validate(vocab, sent, events.DefaultLimits()), fieldErrors)
			require.Equal(t, want, got)
			if len(fieldErrors) > 0 {
				continue
			}
			back, _, err := events.FromBroker(got)
			require.NoError(t, err)
			e.Received = timestamppb.New(at)
			require.Empty(t, cmp.Diff(e, back, protocmp.Transform()))
		}
	})
}

// The size limit applies to the client's event, without the fields that the server adds.
func TestReceiverMeasuresWhatWasSent(t *testing.T) {
	t.Parallel()
	e := &orchv1.Event{
		Id: uuid.Max.String(), Occurred: &timestamppb.Timestamp{}, Event: "e", Resource: &orchv1.Resource{Labels: resource("r")},
		Payload: []byte(`{"x":""}`),
	}
	text, err := restjson.Marshal(e)
	require.NoError(t, err)
	limit := events.DefaultLimits().Bytes
	for more, want := range []int{0, 1} {
		e.Payload = []byte(`{"x":"` + strings.Repeat("x", limit-len(text)+more) + `"}`)
		_, fieldErrors, err := events.NewReceiver(vocab, uuid.Max).Take(e, time.Now())
		require.NoError(t, err)
		require.Len(t, fieldErrors, want)
	}
}

// A list of events that share a large payload is refused before all of them are encoded.
func TestListsOfEventsAreBounded(t *testing.T) {
	t.Parallel()
	payload := []byte(`"` + strings.Repeat("x", broker.MaxEventBytes-2000) + `"`)
	list := make([]*orchv1.ReceivedEvent, 100)
	for i := range list {
		list[i] = &orchv1.ReceivedEvent{
			Id: uuid.NewString(), Event: "e", Occurred: timestamppb.Now(), Received: timestamppb.Now(), Payload: payload,
			Resource: &orchv1.Resource{Labels: resource("r")},
		}
	}
	_, err := events.ListToBroker(vocab, list, uuid.Max)
	require.ErrorIs(t, err, broker.ErrTooLarge)
	require.ErrorContains(t, err, "2 of 100 events have")
	encoded, err := events.ListToBroker(vocab, list[:1], uuid.Max)
	require.NoError(t, err)
	require.Len(t, encoded, 1)
}

func TestToBroker(t *testing.T) {
	t.Parallel()
	ws := uuid.MustParse("01890000-0000-7000-8000-000000000003")
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	e := &orchv1.ReceivedEvent{
		Id: "01890000-0000-7000-8000-000000000009", Event: "e", Occurred: timestamppb.New(at), Received: timestamppb.New(at),
		Resource: &orchv1.Resource{Labels: resource("r")},
	}
	b, err := events.ToBroker(vocab, e, ws)
	require.NoError(t, err)
	b.Data = nil
	require.Equal(t, broker.Event{
		ID: uuid.MustParse(e.GetId()), Source: "urn:orch:workspace:" + ws.String(), Type: "e", Subject: "r", Time: at, Workspace: ws,
	}, b)

	e.Id = "nonsense"
	_, err = events.ToBroker(vocab, e, ws)
	require.ErrorContains(t, err, "encode event: parse id")
}

func TestFromBrokerRefusesOtherThings(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "[]", `{"event": 1}`, `{"id": "01890000-0000-7000-8000-000000000009", "event": "e", "occurred": "2026-01-01", "resource": {}}`} {
		_, _, err := events.FromBroker(broker.Event{ID: uuid.Max, Data: []byte(data)})
		require.ErrorIs(t, err, events.ErrUnreadable, data)
	}
}
