package authn_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/gateway/internal/authn"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"":           "",
		"0.8.0":      "",
		"0.8.4":      "",
		"0.9.0":      "",
		"9.0.0":      "",
		"0.7.9":      "The request specified API version 0.7.9 but this server requires version 0.8.0 or higher.",
		"0.7.99":     "requires version 0.8.0 or higher",
		"0.8":        "Invalid",
		"0.8.4.1":    "Invalid",
		"v0.8.4":     "Invalid",
		"0.8.-4":     "requires version 0.8.0 or higher",
		"0.8.4\xff":  "Invalid",
		"abc":        " header format.Expected header in format 'x.y.z' but received abc",
		"0.8.999999": "",
	} {
		for _, name := range []string{"X-ORCH-API-VERSION", "X-PREFECT-API-VERSION"} {
			header := http.Header{}
			if version != "" {
				header.Set(name, version)
			}
			err := authn.Version(header)
			if want == "" {
				require.NoError(t, err, version)
				continue
			}
			answer := rpc.HTTPError(err)
			require.Equal(t, int32(http.StatusBadRequest), answer.GetStatus(), version)
			require.Contains(t, answer.GetDetail(), want)
		}
	}
}
