package param_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var now = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

func reader(t testing.TB, query string) *param.Reader {
	t.Helper()
	values, err := url.ParseQuery(query)
	require.NoError(t, err)
	return param.NewReader(values, now)
}

func TestWindow(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][2]time.Time{
		"":                                 {now.Add(-24 * time.Hour), now},
		"from=-90m":                        {now.Add(-90 * time.Minute), now},
		"from=-2w&to=-7d":                  {now.Add(-14 * 24 * time.Hour), now.Add(-7 * 24 * time.Hour)},
		"from=2030-01-30":                  {now.Add(-36 * time.Hour), now},
		"from=2030-01-30T12:00:00%2B01:00": {now.Add(-25 * time.Hour), now},
		"from=2030-01-30T12:00:00+01:00":   {now.Add(-25 * time.Hour), now},
	} {
		r := reader(t, query)
		w := r.Window()
		require.NoError(t, r.Err(), query)
		require.Equal(t, want, [2]time.Time{w.From, w.To}, query)
	}
}

func TestBadValuesAreNamed(t *testing.T) {
	t.Parallel()
	for query, name := range map[string]string{
		"from=yesterday": "from", "from=-99999999999h": "from", "from=1800-01-01": "from", "to=-25h": "from", "to=x": "to", "from=%2B1h": "from", "from=1970-01-02&to=9999-12-31": "from", "at=%2B1h": "at", "at=now": "at",
		"state=BROKEN": "state", "flow=1": "flow", "n=0": "n", "n=201": "n", "n=ten": "n", "tz=Mars/Base": "tz", "tz=Local": "tz",
		"older=2030": "older", "older=2030-01-01T00:00:00Z_-1": "older", "q=%FF": "q",
	} {
		r := reader(t, query)
		r.Window()
		r.Words("state", "FAILED")
		r.UUIDs("flow")
		r.Rows()
		r.Zone()
		r.Older()
		r.AsOf()
		r.Text("q")
		var invalid *param.Invalid
		require.ErrorAs(t, r.Err(), &invalid, query)
		require.Equal(t, name, invalid.Name, query)
	}
}

// TestPositionsSkipNothing pages through times with duplicates, as a list with an inclusive upper bound does.
func TestPositionsSkipNothing(t *testing.T) {
	t.Parallel()
	var all []time.Time
	for i := range 30 {
		all = append(all, now.Add(-time.Duration(i/7)*time.Second))
	}
	for rows := 1; rows <= 10; rows++ {
		var seen int
		position := param.Position{}
		for {
			var page []time.Time
			skip := position.Skip
			for _, at := range all {
				if !position.First() && at.After(position.Before) {
					continue
				}
				if skip > 0 {
					skip--
					continue
				}
				if len(page) < rows {
					page = append(page, at)
				}
			}
			if len(page) == 0 {
				break
			}
			seen += len(page)
			position = reader(t, "older="+url.QueryEscape(position.After(page).String())).Older()
		}
		require.Equal(t, len(all), seen, "%d rows a page", rows)
	}
}
