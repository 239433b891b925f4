package rest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSchedulesRefuseBadInput checks the status and the message of schedules that cannot have times. Rules with rare times, or far too many, are accepted: the scheduler bounds its work.
func TestSchedulesRefuseBadInput(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow := s.send("POST", "/flows/", `{"name":"f"}`, nil).text("id")
	path := "/deployments/" + s.send("POST", "/deployments/", `{"name":"d","flow_id":"`+flow+`"}`, nil).text("id")
	for _, c := range []struct {
		schedule string
		status   int
		text     string
	}{
		{`{"cron":"61 * * * *"}`, 422, "Invalid cron string"},
		{`{"cron":""}`, 422, "Invalid cron string"},
		{`{"cron":"R * * * *"}`, 422, "Random and Hashed expressions are unsupported"},
		{`{"cron":"` + strings.Repeat("1,", 50_000) + `1 * * * *"}`, 422, "Invalid cron string"},
		{`{"cron":"0 0 * * *","timezone":"Mars/Olympus"}`, 422, "Invalid timezone"},
		{`{"cron":"0 0 * * *","timezone":"../../etc/passwd"}`, 422, "Invalid timezone"},
		{`{"interval":0}`, 422, "interval must be positive"},
		{`{"interval":-60}`, 422, "interval must be positive"},
		{`{"interval":1e300}`, 422, ""},
		{`{"interval":"soon"}`, 422, ""},
		{`{"interval":60,"timezone":"xxUTCyy"}`, 422, "Invalid timezone"},
		{`{"rrule":"FREQ=DAILY;INTERVAL=0"}`, 422, "Invalid RRule string"},
		{`{"rrule":"INTERVAL=2"}`, 422, "Invalid RRule string"},
		{`{"rrule":"FREQ=NEVER"}`, 422, "Invalid RRule string"},
		{`{"rrule":"FREQ=DAILY","timezone":"xxUTCyy"}`, 422, "nvalid timezone"},
		{`{"rrule":"FREQ=DAILY;BYHOUR=` + strings.Repeat("1,", 5000) + `1"}`, 422, ""},
		{`{}`, 422, ""},
		{`{"cron":"0 0 31 2 *"}`, 201, ""},
		{`{"cron":"* * * * * *"}`, 201, ""},
		{`{"rrule":"FREQ=SECONDLY"}`, 201, ""},
		{`{"rrule":"FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30"}`, 201, ""},
		{`{"interval":0.000001}`, 201, ""},
		{`{"interval":1,"anchor_date":"1970-01-01T00:00:00Z"}`, 201, ""},
	} {
		t.Run(c.schedule, func(t *testing.T) {
			got := s.send("POST", path+"/schedules", `[{"active":true,"schedule":`+c.schedule+`}]`, nil)
			require.Equal(t, c.status, got.status, "%.200s: %.500s", c.schedule, got.body)
			require.Contains(t, string(got.body), c.text, "%.200s", c.schedule)
		})
	}
	for _, c := range []struct {
		body   string
		status int
		text   string
	}{
		{`[{"active":true,"schedule":{"cron":"0 0 * * *"},"max_scheduled_runs":0}]`, 422, ""},
		{`[{"active":true,"schedule":{"cron":"0 0 * * *"},"max_scheduled_runs":51}]`, 422, "max_scheduled_runs"},
		{`[{"active":true,"schedule":{"cron":"0 0 * * *"},"slug":"a"},{"active":true,"schedule":{"cron":"0 0 * * *"},"slug":"a"}]`, 409, "unique"},
		{`[{"active":true,"schedule":{"cron":"0 0 * * *"},"catchup":true}]`, 422, ""},
	} {
		t.Run(c.body, func(t *testing.T) {
			got := s.send("POST", path+"/schedules", c.body, nil)
			require.Equal(t, c.status, got.status, "%s: %s", c.body, got.body)
			require.Contains(t, string(got.body), c.text, c.body)
		})
	}
	// A window of ten years is bounded by the number of runs.
	got := s.send("POST", path+"/schedule", `{"start_time":"2010-01-01T00:00:00Z","end_time":"2020-01-01T00:00:00Z","min_runs":1,"max_runs":10}`, nil)
	require.Equal(t, 200, got.status, "%s", got.body)
	require.Equal(t, 404, s.send("PATCH", path+"/schedules/00000000-0000-0000-0000-000000000001", `{"active":false}`, nil).status)
	require.Equal(t, 200, s.send("POST", "/deployments/00000000-0000-0000-0000-000000000001/schedule", `{}`, nil).status)
}
