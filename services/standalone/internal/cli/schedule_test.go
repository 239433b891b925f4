package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScheduleNext(t *testing.T) {
	t.Parallel()
	out, err := orch(t, "", "schedule", "next", "0 9 * * 1-5", "--timezone", "Europe/Berlin", "--start", "2026-03-27T00:00:00Z", "-n", "3")
	require.NoError(t, err)
	require.Equal(t, "2026-03-27T09:00:00+01:00\n2026-03-30T09:00:00+02:00\n2026-03-31T09:00:00+02:00\n", out)
	out, err = orch(t, "", "schedule", "next", "--interval", "PT6H", "--anchor", "2026-01-01T01:00:00Z", "--start", "2026-01-02 00:00", "-n", "2")
	require.NoError(t, err)
	require.Equal(t, "2026-01-02T01:00:00Z\n2026-01-02T07:00:00Z\n", out)
	out, err = orch(t, "", "schedule", "next", "--rrule", "FREQ=MONTHLY;BYDAY=-1FR", "--start", "2026-01-01", "-n", "1")
	require.NoError(t, err)
	require.Equal(t, "2026-01-30T00:00:00Z\n", out)
	for _, args := range [][]string{
		{},
		{"x x x x x"},
		{"* * * * *", "--rrule", "FREQ=DAILY"},
		{"* * * * *", "--timezone", "Mars/Base"},
		{"0 0 31 2 *"},
		{"--rrule", "FREQ=DAILY;INTERVAL=0"},
		{"--interval", "PT0S"},
		{"* * * * *", "--start", "soon"},
	} {
		_, err = orch(t, "", append([]string{"schedule", "next"}, args...)...)
		require.Error(t, err, args)
	}
}

func TestScheduleNextStdio(t *testing.T) {
	t.Parallel()
	out, err := orch(t, `{"id": "1", "schedule": {"interval": 60, "timezone": "UTC", "anchor_date": "2026-01-01"}, "start": "2026-05-01T00:00:00Z", "n": 2}
{"expr": "0 * * * *", "tz": "UTC", "start": "2026-05-01T00:00:00Z"}

{"schedule": {"cron": "x"}, "start": "2026-05-01T00:00:00Z"}
not json
`, "schedule", "next", "--stdio")
	require.NoError(t, err)
	require.Equal(t, `{"times":["2026-05-01T00:00:00Z","2026-05-01T00:01:00Z"]}
{"times":["2026-05-01T01:00:00Z","2026-05-01T02:00:00Z","2026-05-01T03:00:00Z"]}
{"error":"invalid schedule: Invalid cron string: \"x\""}
{"error":"read the query: invalid character 'o' in literal null (expecting 'u')"}
`, out)
}
