package protobson

import (
	"testing"

	"github.com/stretchr/testify/require"

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
