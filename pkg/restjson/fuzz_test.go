package restjson_test

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/restjson"
	testv1 "github.com/orch-project/orch/proto/gen/orch/test/v1"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// fuzzed has one message of each shape; the first byte of an input chooses.
var fuzzed = []proto.Message{
	&testv1.Everything{}, &testv1.Scalars{}, &testv1.Nullables{}, &testv1.Lists{}, &testv1.Maps{}, &testv1.Inlines{},
	&testv1.Pair{}, &testv1.Scalar{}, &testv1.Typed{}, &testv1.Schedule{}, &testv1.Trigger{}, &testv1.Extra{},
	&testv1.Defaults{}, &testv1.Bounds{}, &testv1.Resource{}, &testv1.Filter{}, &testv1.AnyJson{},
	&orchv1.FlowRun{}, &orchv1.FlowRunQuery{}, &orchv1.ReceivedEvent{}, &orchv1.EventFilter{}, &orchv1.OrchestrationResult{},
}

// FuzzDecode checks that no input panics the decoder, that rejected input has field errors which are valid JSON, and that
// accepted input survives a round trip.
func FuzzDecode(f *testing.F) {
	for i := range fuzzed {
		f.Add(uint8(i), []byte(`{"type":"event","interval":"P1D","text":"\ud83d\ude00","list":[1,2.5e-7,null],"id":"11111111-1111-4111-8111-111111111111"}`))
	}
	f.Add(uint8(16), []byte(`[[[ "\ud800" , 1e400 ]]]`))
	f.Add(uint8(3), []byte(`{"integers":[3.0,1e18],"times":["2026-01-01"],"durations":["PT1S",1.5]}`))
	f.Add(uint8(10), []byte(`{"triggers":[{"type":"none"},{"posture":"RED"}],"within":1}`))
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		m := proto.Clone(fuzzed[int(which)%len(fuzzed)])
		if err := restjson.Unmarshal(data, m); err != nil {
			e := restjson.AsErrors(err)
			require.NotNil(t, e, "%v", err)
			require.NotEmpty(t, e.List)
			require.LessOrEqual(t, len(e.List), restjson.MaxErrors+1)
			require.True(t, json.Valid(e.AppendBody(nil, data)), "%s", e.AppendBody(nil, data))
			return
		}
		require.True(t, json.Valid(data) || len(data) == 0)
		text, err := restjson.Marshal(m)
		if err != nil {
			return // a required value that no key gave: handlers set those
		}
		back := m.ProtoReflect().New().Interface()
		require.NoError(t, restjson.Unmarshal(text, back), "%s", text)
		again, err := restjson.Marshal(back)
		require.NoError(t, err)
		require.Equal(t, string(text), string(again))
	})
}

// FuzzCompact compares Compact with encoding/json, which is more lenient in known ways.
func FuzzCompact(f *testing.F) {
	for _, s := range []string{` { "a" : [ 1 , -0.5e+7 , true , null ] } `, `"\ud83d\ude00"`, `"\ud800"`, `01`, `[1,]`, "\"\xff\"", `{"a" 1}`, `-`, `1.`, `"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := restjson.Compact(data)
		if err != nil {
			return
		}
		require.True(t, json.Valid(data), "%q", data)
		again, err := restjson.Compact(out)
		require.NoError(t, err)
		require.Equal(t, string(out), string(again))
	})
}

// FuzzTexts checks that the parsers of texts do not panic, and that accepted texts survive a round trip.
func FuzzTexts(f *testing.F) {
	for _, s := range []string{"2026-01-02T03:04:05.123456+01:00", "2026-02-29", "P1DT2H3M4.5S", "-PT1,5S", someID, "1111111111114111811111111111111A", "P99999999999999999999D"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if seconds, nanos, reason := restjson.ParseTimestamp(s); reason == "" {
			text, ok := restjson.AppendTimestamp(nil, seconds, nanos)
			require.True(t, ok)
			back, backNanos, reason := restjson.ParseTimestamp(string(text[1 : len(text)-1]))
			require.Empty(t, reason)
			require.Equal(t, seconds, back)
			require.Equal(t, nanos, backNanos)
		}
		if micros, reason := restjson.ParseDuration(s); reason == "" {
			_, ok := restjson.AppendDuration(nil, micros/1e6, int32(micros%1e6)*1000)
			require.True(t, ok, "%d", micros)
		}
		if canonical, reason := restjson.ParseUUID(s); reason == "" {
			again, reason := restjson.ParseUUID(canonical)
			require.Empty(t, reason)
			require.Equal(t, canonical, again)
			require.Len(t, canonical, 36)
		}
	})
}

// FuzzFloat checks that each number is written as JSON with a fraction or an exponent that reads back as the same number.
func FuzzFloat(f *testing.F) {
	for _, x := range []float64{0, 1, 0.1, 1e-5, 9.99e-6, 1e16, 1e15, 5e-324, math.MaxFloat64, math.Copysign(0, -1)} {
		f.Add(math.Float64bits(x))
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		x := math.Float64frombits(bits)
		text := restjson.AppendFloat(nil, x)
		require.True(t, json.Valid(text))
		if math.IsNaN(x) || math.IsInf(x, 0) {
			require.Equal(t, "null", string(text))
			return
		}
		back, err := strconv.ParseFloat(string(text), 64)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(x), math.Float64bits(back))
		require.Regexp(t, `^-?[0-9]+(\.[0-9]+)?(e[-+][1-9][0-9]*)?$`, string(text))
		require.Regexp(t, `[.e]`, string(text))
	})
}
