package admission_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/admission"
)

func TestGzipLength(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(strings.Repeat("x", 100_000)))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for name, c := range map[string]struct {
		body []byte
		want int64
	}{
		"a body of gzip":        {packed.Bytes(), 100_000},
		"a length beyond reach": {[]byte("\xff\xff\xff\x7f"), 4},
		"shorter than a length": {[]byte("x"), 1},
		"empty":                 {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, admission.GzipLength(c.body))
		})
	}
}
