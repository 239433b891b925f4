package pages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCauseOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, one, other string }{
		{"numbers", "503 Service Unavailable for r07", "502 Service Unavailable for r12"},
		{"ids", "run 01a22652-ed5c-7020-86ba-f207bab52a18 is gone", "run 01a22652-f0ee-7312-a5be-6793d3a5bc4c is gone"},
		{"quoted texts", "KeyError: 'vendor_id'", `KeyError: "name"`},
		{"further lines", "ValueError\nfirst", "ValueError\nsecond"},
		{"addresses", "at 0x7f3a", "at 0x11"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, causeOf(c.one), causeOf(c.other))
		})
	}
	require.NotEqual(t, causeOf("KeyError: 'id'"), causeOf("ValueError: 'id'"))
}
