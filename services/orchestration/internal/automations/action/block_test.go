package action

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABlockMayForbidPrivateAddresses(t *testing.T) {
	t.Parallel()
	for setting, public := range map[any]bool{nil: false, true: false, false: true, "no": false} {
		b := &block{data: map[string]any{"allow_private_urls": setting}}
		require.Equal(t, public, b.refusesPrivate())
	}
}

func TestACallHasAType(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		headers map[string]any
		payload string
		want    string
	}{
		"JSON":                 {nil, `{"a": 1}`, "application/json"},
		"text":                 {nil, "run failed", "text/plain; charset=utf-8"},
		"no payload":           {nil, "", ""},
		"the block names one":  {map[string]any{"content-type": "application/xml"}, `{"a": 1}`, "application/xml"},
		"the block names none": {map[string]any{"X-A": "b"}, `"text"`, "application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			messages, err := call(&block{data: map[string]any{"url": "https://example.com", "headers": test.headers}}, "", test.payload)
			require.NoError(t, err)
			require.Len(t, messages, 1)
			require.Equal(t, test.want, messages[0].Header.Get("Content-Type"))
		})
	}
}
