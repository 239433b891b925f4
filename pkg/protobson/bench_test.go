package protobson

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func BenchmarkAppendFlowRun(b *testing.B) {
	m := flowRun()
	raw, err := MarshalDocument(m)
	require.NoError(b, err)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		if dst, err = AppendDocument(dst[:0], m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshalFlowRun(b *testing.B) {
	raw, err := MarshalDocument(flowRun())
	require.NoError(b, err)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	m := &orchv1.FlowRun{}
	for b.Loop() {
		if err := UnmarshalDocument(raw, m); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDocumentAsJSON compares a stored run that becomes REST JSON directly with one that becomes a message in between.
func BenchmarkDocumentAsJSON(b *testing.B) {
	doc, err := MarshalDocument(flowRun())
	require.NoError(b, err)
	e, err := NewJSONEncoder(&orchv1.FlowRun{}, func(_ Stored, _ time.Time, out [][]byte) bool {
		for i := range out {
			out[i] = append(out[i], "null"...)
		}
		return true
	}, "state_id", "state_type", "state_name", "estimated_run_time", "estimated_start_time_delta")
	require.NoError(b, err)
	b.Run("direct", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for b.Loop() {
			var ok bool
			if dst, ok = e.AppendDocument(dst[:0], doc, time.Time{}); !ok {
				b.Fatal("left to the message")
			}
		}
	})
	b.Run("message", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for b.Loop() {
			m := &orchv1.FlowRun{}
			require.NoError(b, UnmarshalDocument(doc, m))
			dst, err = restjson.Append(dst[:0], m)
			require.NoError(b, err)
		}
	})
}
