package schedule_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/schedule"
)

func zone(t interface{ Fatal(args ...any) }, name string) *time.Location {
	location, err := schedule.Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu"}

func draw(t *rapid.T) (schedule.Schedule, time.Time) {
	location := zone(t, rapid.SampledFrom(zones).Draw(t, "zone"))
	start := time.Unix(rapid.Int64Range(1_700_000_000, 1_900_000_000).Draw(t, "start"), 0)
	number := func(low, high int, label string) int { return rapid.IntRange(low, high).Draw(t, label) }
	var s schedule.Schedule
	var err error
	switch rapid.SampledFrom([]string{"cron", "interval", "rrule"}).Draw(t, "kind") {
	case "cron":
		s, err = schedule.ParseCron(fmt.Sprintf("%d %d-%d/2 * %d-12 *", number(0, 59, "minute"), number(0, 22, "from"), 23, number(1, 11, "month")), location, true)
	case "interval":
		s, err = schedule.NewInterval(int64(number(1, 1_000_000, "seconds"))*1_000_000, time.Unix(int64(number(0, 2_000_000_000, "anchor")), 0), location)
	default:
		freq := rapid.SampledFrom([]string{"YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"}).Draw(t, "freq")
		s, err = schedule.ParseRRule(fmt.Sprintf("FREQ=%s;INTERVAL=%d", freq, number(1, 9, "interval")), location)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, start
}

// Times ascend, none is twice, and a later start leaves out only those before it.
func TestTimesAscendAndDoNotDependOnTheStart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, start := draw(t)
		times, err := schedule.First(s, start, time.Time{}, 8)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(times); i++ {
			if !times[i].After(times[i-1]) {
				t.Fatalf("%s is not after %s", times[i], times[i-1])
			}
		}
		if _, days := s.(*schedule.Interval); days || len(times) < 8 {
			return // An interval of days depends on the start, as clients expect it.
		}
		from := times[3]
		later, err := schedule.First(s, from, time.Time{}, 2)
		if err != nil {
			t.Fatal(err)
		}
		// In the repeated hour of a clock change, the first of two equal local times may come again.
		if !later[0].Equal(times[3]) && later[0].After(times[3]) {
			t.Fatalf("from %s, the first time is %s", from, later[0])
		}
	})
}

func TestZonesAreNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "Local", "localtime", "europe/berlin", "Mars/Base", "../etc/passwd", "posix/UTC", "xxUTCyy"} {
		_, err := schedule.Zone(name)
		require.ErrorIs(t, err, schedule.ErrInvalid, name)
	}
}

func TestInvalidRulesAreRefused(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{
		"", " ", "BYDAY=MO", "FREQ=DAILY;INTERVAL=0", "FREQ=DAILY;INTERVAL=-1", "FREQ=DAILY;BYMONTH=13", "FREQ=DAILY;BYMONTHDAY=32",
		"DTSTART:20260101T000000", "FREQ=SECONDLY;BYSECOND=60", strings.Repeat("x", 7000),
	} {
		_, err := schedule.ParseRRule(rule, time.UTC)
		require.ErrorIs(t, err, schedule.ErrInvalid, rule)
	}
}

// Whatever matches nothing, or almost nothing, ends after a bounded amount of work.
func TestSparseSchedulesEnd(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{
		"FREQ=YEARLY;BYWEEKNO=54", "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=MINUTELY;INTERVAL=2;BYMINUTE=0;BYHOUR=3;BYMONTH=2;BYMONTHDAY=31",
		"DTSTART:20200101T000000\nRRULE:FREQ=SECONDLY\nEXRULE:FREQ=SECONDLY", "FREQ=SECONDLY;COUNT=2000000000;BYDAY=MO",
	} {
		s, err := schedule.ParseRRule(rule, time.UTC)
		require.NoError(t, err)
		_, err = schedule.First(s, now, time.Time{}, 1)
		require.ErrorIs(t, err, schedule.ErrTooSparse, rule)
	}
	never, err := schedule.ParseCron("0 0 30 2 *", time.UTC, true)
	require.NoError(t, err)
	_, err = schedule.First(never, now, time.Time{}, 1)
	require.ErrorIs(t, err, schedule.ErrTooSparse)
}

func TestRulesOfSecondsReachTheFutureAtOnce(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"FREQ=SECONDLY", "FREQ=SECONDLY;COUNT=2000000000", "FREQ=MINUTELY;COUNT=100000000"} {
		s, err := schedule.ParseRRule(rule, time.UTC)
		require.NoError(t, err)
		times, err := schedule.First(s, now, time.Time{}, 3)
		require.NoError(t, err)
		require.Len(t, times, 3, rule)
		require.Equal(t, now, times[0], rule)
	}
}

func FuzzCron(f *testing.F) {
	for _, seed := range []string{"* * * * *", "0 0 L * 5#2", "@daily", "*/5 22-2/3 ? jan-mar fri-mon 0 2027-2030", "0 9 * * L5", "R * * * *"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := schedule.ParseCron(text, time.UTC, true)
		if err != nil {
			require.ErrorIs(t, err, schedule.ErrInvalid)
			return
		}
		times, err := schedule.First(s, now, time.Time{}, 3)
		if err != nil {
			require.ErrorIs(t, err, schedule.ErrTooSparse)
		}
		for _, at := range times {
			require.False(t, at.Before(now))
		}
	})
}

func FuzzRRule(f *testing.F) {
	for _, v := range lines[vector](f, "vectors.jsonl") {
		if v.Kind == "rrule" {
			f.Add(string(v.Query.Schedule))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := schedule.ParseRRule(text, zone(t, "Europe/Berlin"))
		if err != nil {
			require.ErrorIs(t, err, schedule.ErrInvalid)
			return
		}
		if _, err := schedule.First(s, now, time.Time{}, 2); err != nil && !errors.Is(err, schedule.ErrTooSparse) {
			t.Fatal(err)
		}
	})
}
