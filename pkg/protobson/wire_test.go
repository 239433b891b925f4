package protobson

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestBothReadersAgree reads documents of every message, some of them damaged, on the fast path and by reflection: if the first
// returns a message, the second returns the same one.
func TestBothReadersAgree(t *testing.T) {
	t.Parallel()
	for _, mt := range contractMessages(t) {
		p := planOf(mt.Descriptor())
		if p.form != formDocument {
			continue
		}
		t.Run(string(mt.Descriptor().Name()), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := mt.New()
				generateInto(t, m, 3)
				raw, err := Marshal(m.Interface())
				require.NoError(t, err)
				if len(raw) > 5 && rapid.Bool().Draw(t, "damaged") {
					raw[rapid.IntRange(4, len(raw)-2).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
				}
				fast, slow := mt.New(), mt.New()
				if !p.readWire(raw, fast.Interface(), false) {
					return
				}
				require.NoError(t, p.readFields(raw, slow, false, 1))
				// A damaged byte can make a number NaN.
				requireSame(t, slow.Interface(), fast.Interface())
			})
		})
	}
}

// TestFastPathAcceptsFlowRuns checks that ordinary documents do not need reflection.
func TestFastPathAcceptsFlowRuns(t *testing.T) {
	t.Parallel()
	m := flowRun()
	raw, err := MarshalDocument(m)
	require.NoError(t, err)
	require.True(t, planOf(m.ProtoReflect().Descriptor()).readWire(raw, m.ProtoReflect().New().Interface(), true))
}
