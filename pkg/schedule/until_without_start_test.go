package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/schedule"
)

// A rule without DTSTART begins at the default start, whatever form UNTIL has; with DTSTART both must have a zone or none.
func TestUntilWithoutAStart(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"FREQ=DAILY;UNTIL=20200103T000000Z", "RRULE:FREQ=DAILY;UNTIL=20200103T000000"} {
		s, err := schedule.ParseRRule(rule, time.UTC)
		require.NoError(t, err, rule)
		found, err := schedule.First(s, schedule.DefaultStart, time.Time{}, 10)
		require.NoError(t, err)
		require.Len(t, found, 3, rule)
	}
	for _, rule := range []string{
		"DTSTART:20200101T000000\nRRULE:FREQ=DAILY;UNTIL=20200103T000000Z", "DTSTART:20200101T000000Z\nRRULE:FREQ=DAILY;UNTIL=20200103T000000",
	} {
		_, err := schedule.ParseRRule(rule, time.UTC)
		require.ErrorIs(t, err, schedule.ErrInvalid, rule)
	}
}
