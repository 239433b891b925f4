//go:build e2e

package e2e

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStepClock reads the clock of a server, which is in the Date header of its responses, after steps there and back.
func TestStepClock(t *testing.T) {
	o := StartSingle(t, programs, t.TempDir())
	for _, offset := range []time.Duration{time.Hour, -time.Hour, 0} {
		err := o.Processes[0].StepClock(offset)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip("clock steps need Linux on x86-64")
		}
		require.NoError(t, err)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, o.URL+"/api/health", nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		date, err := http.ParseTime(response.Header.Get("Date"))
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(offset), date, 30*time.Minute)
	}
}
