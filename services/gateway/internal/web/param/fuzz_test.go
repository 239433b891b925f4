package param_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/gateway/internal/web/param"
)

// FuzzReader reads every kind of parameter from an address. Without an error, all values are within their bounds, and a position
// comes back as it was.
func FuzzReader(f *testing.F) {
	for _, query := range []string{
		"from=-24h&to=2030-01-31&n=50&state=failed&tz=Europe/Vienna", "from=9999-12-31T23:59:59Z&to=x", "older=2030-01-31T12:00:00.123456Z_7&id=x",
		"from=-99999999999d&n=-1&tz=Local", "at=1970-01-01&q=%F0%9F%A6%91&state=", "older=_&from=+1h",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Skip("not a query")
		}
		r := param.NewReader(values, now)
		window, moment, position := r.Window(), r.AsOf(), r.Older()
		rows, states, ids, text, zone := r.Rows(), r.Words("state", "FAILED", "RUNNING"), r.UUIDs("id"), r.Text("q"), r.Zone()
		if r.Err() != nil {
			require.ErrorAs(t, r.Err(), new(*param.Invalid))
			return
		}
		require.True(t, window.From.Before(window.To))
		require.Less(t, window.To.Year(), 10_000)
		require.False(t, moment.After(now))
		require.True(t, rows >= 1 && rows <= param.MaxRows)
		require.Subset(t, []string{"FAILED", "RUNNING"}, states)
		for _, id := range ids {
			require.Len(t, id, 36)
		}
		require.LessOrEqual(t, len(text), 500)
		require.NotNil(t, zone)
		if !position.First() {
			again := param.NewReader(url.Values{"older": {position.String()}}, now)
			require.Equal(t, position, again.Older())
			require.NoError(t, again.Err())
		}
	})
}
