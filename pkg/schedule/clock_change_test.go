package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/schedule"
)

// In Berlin the clock skips 02:00 to 03:00 on 2027-03-28 and shows 02:00 to 03:00 twice on 2027-10-31; on Lord Howe Island it
// skips 02:00 to 02:30 on 2027-10-03.
func TestTimesAroundClockChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		definition, start string
		want              []string
	}{
		"a day keeps its hour": {
			`{"interval": 86400, "anchor_date": "2026-01-15T09:00:00+01:00", "timezone": "Europe/Berlin"}`, "2027-03-27T00:00:00Z",
			[]string{"2027-03-27T08:00:00Z", "2027-03-28T07:00:00Z", "2027-03-29T07:00:00Z"},
		},
		"a skipped hour moves for good": {
			`{"interval": 86400, "anchor_date": "2027-03-01T02:30:00+01:00", "timezone": "Europe/Berlin"}`, "2027-03-27T00:00:00Z",
			[]string{"2027-03-27T01:30:00Z", "2027-03-28T01:30:00Z", "2027-03-29T01:30:00Z"},
		},
		"a moved hour is found years later": {
			`{"interval": 86400, "anchor_date": "2000-01-01T02:30:00+01:00", "timezone": "Europe/Berlin"}`, "2027-07-01T00:00:00Z",
			[]string{"2027-07-01T01:30:00Z", "2027-07-02T01:30:00Z"},
		},
		"days before the anchor count from it": {
			`{"interval": 86400, "anchor_date": "2027-04-02T02:30:00+02:00", "timezone": "Europe/Berlin"}`, "2027-03-27T00:00:00Z",
			[]string{"2027-03-27T01:30:00Z", "2027-03-28T01:30:00Z", "2027-03-29T00:30:00Z"},
		},
		"cron moves forward past a gap": {
			`{"cron": "30 2 * * *", "timezone": "Europe/Berlin"}`, "2027-03-27T12:00:00Z",
			[]string{"2027-03-28T01:30:00Z", "2027-03-29T00:30:00Z"},
		},
		"cron has moved times after the gap": {
			`{"cron": "30 2 * * *", "timezone": "Europe/Berlin"}`, "2027-03-28T01:10:00Z",
			[]string{"2027-03-28T01:30:00Z", "2027-03-29T00:30:00Z"},
		},
		"cron has no moved time that is over": {
			`{"cron": "0 2 * * *", "timezone": "Europe/Berlin"}`, "2027-03-28T01:10:00Z",
			[]string{"2027-03-29T00:00:00Z"},
		},
		"cron counts two local times of one instant once": {
			`{"cron": "30 2,3 * * *", "timezone": "Europe/Berlin"}`, "2027-03-28T00:00:00Z",
			[]string{"2027-03-28T01:30:00Z", "2027-03-29T00:30:00Z"},
		},
		"cron is due in the order of instants": {
			`{"cron": "10,35 2 * * *", "timezone": "Australia/Lord_Howe"}`, "2027-10-02T12:00:00Z",
			[]string{"2027-10-02T15:35:00Z", "2027-10-02T15:40:00Z", "2027-10-03T15:10:00Z"},
		},
		"cron is due in the first of two hours": {
			`{"cron": "*/30 2 * * *", "timezone": "Europe/Berlin"}`, "2027-10-30T12:00:00Z",
			[]string{"2027-10-31T00:00:00Z", "2027-10-31T00:30:00Z", "2027-11-01T01:00:00Z"},
		},
		"cron is not due in the second hour": {
			`{"cron": "*/30 2 * * *", "timezone": "Europe/Berlin"}`, "2027-10-31T01:10:00Z",
			[]string{"2027-11-01T01:00:00Z", "2027-11-01T01:30:00Z"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := schedule.ParseDefinition([]byte(c.definition), now)
			require.NoError(t, err)
			start, err := schedule.ParseTime(c.start)
			require.NoError(t, err)
			found, err := schedule.First(s, start, time.Time{}, len(c.want))
			require.NoError(t, err)
			require.Equal(t, c.want, format(found))
		})
	}
}
