package restjson_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/restjson/restjsontest"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// fastMessages are the messages with generated decoders.
var fastMessages = []proto.Message{&orchv1.Event{}, &orchv1.ReceivedEvent{}, &orchv1.LogCreate{}, &orchv1.Resource{}}

// agree checks that generated and reflective decoders return the same, also when they read over another message.
func agree(t require.TestingT, text []byte, kind, former proto.Message) {
	want := proto.Clone(kind)
	proto.Reset(want)
	got := proto.Clone(want)
	wantErr := restjson.UnmarshalReflect(text, want)
	gotErr := restjson.Unmarshal(text, got)
	replaced := proto.Clone(former)
	replacedErr := restjson.Replace(text, replaced)
	if wantErr != nil {
		require.EqualError(t, gotErr, wantErr.Error(), "%s", text)
		require.Equal(t, restjson.AsErrors(wantErr).List, restjson.AsErrors(gotErr).List)
		require.EqualError(t, replacedErr, wantErr.Error(), "%s", text)
		return
	}
	require.NoError(t, gotErr, "%s", text)
	require.Empty(t, cmp.Diff(want, got, protocmp.Transform()), "%s", text)
	require.NoError(t, replacedErr, "%s", text)
	require.Empty(t, cmp.Diff(want, replaced, protocmp.Transform()), "%s", text)
}

// TestFastDecodersAgree writes random messages, damages some of the texts, and compares the results of both decoders.
func TestFastDecodersAgree(t *testing.T) {
	t.Parallel()
	parts := [][]byte{
		[]byte(" "), []byte("\n\t"), []byte(","), []byte(`"`), []byte("{}"), []byte("]"), []byte("null"), []byte(`\u0041`), []byte(`\ud800`),
		[]byte("0"), []byte("-1.5"), []byte("\xff"), []byte("ä"), []byte(`"id":"x",`), []byte(`"new":[{"a":"\n"}],`), []byte(`"related":[],`),
	}
	for _, kind := range fastMessages {
		t.Run(string(kind.ProtoReflect().Descriptor().Name()), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				former := restjsontest.Draw(t, kind.ProtoReflect().Type(), restjsontest.WithInternal())
				m := restjsontest.Draw(t, kind.ProtoReflect().Type())
				text, err := restjson.Marshal(m)
				require.NoError(t, err)
				for range rapid.IntRange(0, 3).Draw(t, "changes") {
					at := rapid.IntRange(0, len(text)).Draw(t, "at")
					drop := rapid.IntRange(0, min(2, len(text)-at)).Draw(t, "drop")
					part := rapid.SampledFrom(parts).Draw(t, "part")
					text = append(append(bytes.Clone(text[:at]), part...), text[at+drop:]...)
				}
				agree(t, text, kind, former)
			})
		})
	}
}

// TestFastDecodersAccept proves that well-formed input does not need reflection.
func TestFastDecodersAccept(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"occurred":"2026-01-02T03:04:05.678901Z","event":"a\nb","resource":{"orch.resource.id":"x","ä":"\"é\""},"id":"018f4f2c-0000-7000-8000-000000000001"}`,
		` { "occurred" : "2026-01-02T03:04:05+01:00" , "event" : "e" , "resource" : { } , "related" : [ { "a" : "b" } , { } ] , "payload" : { "a" : [ 1 , "\\ n" ] } ,
		  "id" : "018f4f2c-0000-7000-8000-000000000001" , "follows" : null , "unknown" : [ { } ] } `,
		`{"occurred":"2026-01-02T03:04:05Z","event":"e","resource":{"a":"b"},"id":"018f4f2c-0000-7000-8000-000000000001","follows":"018f4f2c-0000-7000-8000-000000000002"}`,
	} {
		require.True(t, restjson.Fast([]byte(text), &orchv1.Event{}), text)
		agree(t, []byte(text), &orchv1.Event{}, &orchv1.Event{})
	}
	require.True(t, restjson.Fast([]byte(`{"name":"n","level":-20,"message":"m","timestamp":"2026-01-02T03:04:05Z"}`), &orchv1.LogCreate{}))
}

// TestDecodedMessagesOwnTheirMemory proves that a message does not change when the caller reuses the body.
func TestDecodedMessagesOwnTheirMemory(t *testing.T) {
	t.Parallel()
	body := []byte(`{"occurred":"2026-01-02T03:04:05Z","event":"first","resource":{"a":"b"},"payload":{"n":1},"id":"018f4f2c-0000-7000-8000-000000000001"}`)
	e := &orchv1.Event{}
	require.NoError(t, restjson.Unmarshal(body, e))
	want := proto.CloneOf(e)
	want.Event = "first"
	clear(body)
	require.Empty(t, cmp.Diff(want, e, protocmp.Transform()))
}

// benchmarked is an event of the size that the SDK sends.
const benchmarked = `{"occurred":"2026-01-02T03:04:05.678901Z","event":"orch.task-run.Running","resource":{"orch.resource.id":` +
	`"orch.task-run.018f4f2c-0000-7000-8000-000000000001","orch.resource.name":"task-1","orch.run-count":"1","orch.state-message":"",` +
	`"orch.state-name":"Running","orch.state-type":"RUNNING"},"related":[{"orch.resource.id":"orch.flow-run.45cf673a-409a-436d-a7e8-10d23989a862",` +
	`"orch.resource.role":"flow-run","orch.resource.name":"run-3"}],"payload":{"intended":{"from":"PENDING","to":"RUNNING"},"initial_state":` +
	`{"type":"PENDING","name":"Pending","message":"","state_details":{}}},"id":"018f4f2c-0000-7000-8000-000000000001","follows":null}`

func BenchmarkDecodeEvent(b *testing.B) {
	for name, decode := range map[string]func([]byte, proto.Message) error{
		"replace":    restjson.Replace,
		"reflective": restjson.UnmarshalReflect,
		"unmarshal":  func(text []byte, m proto.Message) error { return restjson.Unmarshal(text, m) },
	} {
		b.Run(name, func(b *testing.B) {
			text, e := []byte(benchmarked), &orchv1.Event{}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if name != "replace" {
					e = &orchv1.Event{}
				}
				if err := decode(text, e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
