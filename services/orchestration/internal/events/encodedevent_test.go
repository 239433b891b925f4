package events

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/broker"
	wire "github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ways returns the documents of an event by both ways: as encoded, nil if that way does not recognise it, and by its message.
func ways(t require.TestingT, s *Service, b broker.Event) (encoded, byMessage bson.Raw, err error) {
	var e encodedEvent
	var short, long documents
	if e.read(&b, s.vocab.ResourceID()) {
		encoded = short.addEncoded(s, &e, &b)
		require.NoError(t, encoded.Validate())
	}
	event, ws, err := wire.FromBroker(b)
	if err != nil {
		return encoded, nil, err
	}
	byMessage, err = long.add(s, ws, event)
	return encoded, byMessage, err
}

var label = rapid.OneOf(
	rapid.StringMatching(`[a-z.]{1,12}`), rapid.String(), rapid.Just("orch.resource.id"), rapid.Just("orch.resource.role"), rapid.Just("ü"),
)

// TestEncodedEvents stores random events by both ways: the documents are equal, and events without escapes take the short way.
func TestEncodedEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &Service{vocab: vocabulary.Orch, retention: rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "retention")}
		labels := rapid.MapOfN(label, label, 0, 4)
		at := func(name string) *timestamppb.Timestamp {
			return &timestamppb.Timestamp{
				Seconds: rapid.Int64Range(-62_135_596_800, 253_402_300_799).Draw(t, name), Nanos: 1000 * rapid.Int32Range(0, 999_999).Draw(t, name+" microseconds"),
			}
		}
		e := &orchv1.ReceivedEvent{
			Id: uuid.NewString(), Occurred: at("occurred"), Received: at("received"), Event: label.Draw(t, "event"),
			Resource: &orchv1.Resource{Labels: labels.Draw(t, "resource")},
			Payload:  []byte(rapid.SampledFrom([]string{"", "{}", `{"a":[1,2.50,"x"],"ü":{}}`, `{"a":"\ud83d\ude00"}`, `{"a":null,"a":"\n"}`}).Draw(t, "payload")),
		}
		for range rapid.IntRange(0, 3).Draw(t, "related") {
			e.Related = append(e.Related, &orchv1.RelatedResource{Labels: labels.Draw(t, "labels")})
		}
		if rapid.Bool().Draw(t, "follows") {
			e.Follows = new(uuid.NewString())
		}
		b, err := wire.ToBroker(s.vocab, e, uuid.New())
		require.NoError(t, err)
		if rapid.Bool().Draw(t, "traced") {
			b.TraceParent, b.TraceState = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "vendor=1"
		}
		encoded, byMessage, err := ways(t, s, b)
		require.NoError(t, err)
		if encoded != nil {
			require.Equal(t, byMessage, encoded)
		} else {
			require.True(t, len(e.Resource.Labels) == 0 || strings.ContainsRune(string(b.Data), '\\') || hasEmpty(e.Related), "%s", b.Data)
		}
	})
}

func hasEmpty(related []*orchv1.RelatedResource) bool {
	for _, r := range related {
		if len(r.GetLabels()) == 0 {
			return true
		}
	}
	return false
}

// FuzzEncodedEvents: whatever the short way recognises has the document of the message.
func FuzzEncodedEvents(f *testing.F) {
	s := &Service{vocab: vocabulary.Orch}
	id := uuid.MustParse("72d3162e-cc78-11e3-81ab-4c9367dc0958")
	e := &orchv1.ReceivedEvent{
		Id: id.String(), Occurred: &timestamppb.Timestamp{Seconds: 1, Nanos: 5000}, Received: &timestamppb.Timestamp{Seconds: 2}, Event: "a",
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "r"}}, Payload: []byte(`{"a":1}`), Follows: new(id.String()),
		Related: []*orchv1.RelatedResource{{Labels: map[string]string{"orch.resource.id": "x", "orch.resource.role": "y"}}},
	}
	b, err := wire.ToBroker(s.vocab, e, uuid.Max)
	require.NoError(f, err)
	f.Add(string(b.Data))
	for _, change := range [][2]string{
		{"}]", "},{}]"},
		{`{"a":1}`, `{"a": 1}`},
		{`{"a":1}`, `{"a":"\ud800"}`},
		{`"r"`, `"\u0072"`},
		{`"1970`, `"1969`},
		{"Z", "+01:00"},
		{`72d3162e`, `72D3162E`},
		{`"orch.resource.id":"x",`, `"z":"",`},
		{`"follows":"`, `"follows":null,"more":"`},
		{`{"a":1}`, `null`},
		{`{"a":1}`, strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)},
	} {
		f.Add(strings.Replace(string(b.Data), change[0], change[1], 1))
	}
	f.Fuzz(func(t *testing.T, data string) {
		b := b
		b.Data = []byte(data)
		encoded, byMessage, err := ways(t, s, b)
		if encoded == nil {
			return
		}
		require.NoError(t, err)
		require.Equal(t, byMessage, encoded)
	})
}

// TestEventsWithoutRecorderHaveNoMessage: a batch has messages of those events alone that something records.
func TestEventsWithoutRecorderHaveNoMessage(t *testing.T) {
	t.Parallel()
	s := &Service{vocab: vocabulary.Orch, types: noTypes{}, records: func(name string) bool { return name == "recorded" }}
	p := newPersistence(s)
	for _, name := range []string{"recorded", "other"} {
		e := &orchv1.ReceivedEvent{
			Id: uuid.NewString(), Event: name, Occurred: timestamppb.Now(), Received: timestamppb.Now(),
			Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "r"}},
		}
		b, err := wire.ToBroker(s.vocab, e, uuid.New())
		require.NoError(t, err)
		doc, event, err := p.document(&b)
		require.NoError(t, err)
		require.Equal(t, name == "recorded", event != nil)
		want, err := store.NewDocument(b.Workspace, e, time.Time{})
		require.NoError(t, err)
		if event == nil { // NewDocument without wire.Index lacks the ids of resources.
			require.Greater(t, len(doc), len(want))
		}
	}
}

func BenchmarkDocument(b *testing.B) {
	s := &Service{vocab: vocabulary.Orch, types: noTypes{}, records: func(string) bool { return false }}
	e := &orchv1.ReceivedEvent{
		Id: uuid.NewString(), Event: "github.push", Occurred: timestamppb.Now(), Received: timestamppb.Now(),
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "github.repository.a/b", "orch.resource.name": "b"}},
		Related: []*orchv1.RelatedResource{
			{Labels: map[string]string{"orch.resource.id": "github.commit.0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c", "orch.resource.role": "commit"}},
			{Labels: map[string]string{"orch.resource.id": "orch-cloud.webhook.72d3162e", "orch.resource.name": "good", "orch.resource.role": "webhook"}},
		},
		Payload: []byte(`{"message":"` + strings.Repeat("x", 500) + `","branch":"main","pusher":{"name":"baxterthehacker"}}`),
	}
	event, err := wire.ToBroker(s.vocab, e, uuid.New())
	require.NoError(b, err)
	for _, way := range []string{"encoded", "message"} {
		b.Run(way, func(b *testing.B) {
			b.ReportAllocs()
			s.records = func(string) bool { return way == "message" }
			p := newPersistence(s)
			for b.Loop() {
				p.docs.reset()
				if _, _, err := p.document(&event); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
