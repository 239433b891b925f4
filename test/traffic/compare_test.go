package traffic

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	idA = "45cf673a-409a-436d-a7e8-10d23989a862"
	idB = "01a1fc32-1323-7da0-8c03-fb9fc148a2fb"
	idC = "cf4fea56-02b0-4db3-9975-def79e30029e"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		recorded, ours string
		want           []string
	}{
		"the same":               {`{"a":[1,"x",true,null]}`, `{"a":[1,"x",true,null]}`, nil},
		"another status word":    {`{"state":{"type":"RUNNING"}}`, `{"state":{"type":"FAILED"}}`, []string{`state.type: "FAILED" instead of "RUNNING"`}},
		"a key less, a key more": {`{"a":1,"b":2}`, `{"b":2,"c":3}`, []string{"body: lacks a", "body: adds c"}},
		"null for a text":        {`{"a":"x"}`, `{"a":null}`, []string{"a: null instead of string"}},
		"an integer for a float": {`{"a":1.0}`, `{"a":1}`, []string{"a: integer instead of number"}},
		"durations":              {`{"total_run_time":1.5}`, `{"total_run_time":0.0}`, nil},
		"times":                  {`{"created":"2026-11-21T03:41:42.549537Z"}`, `{"created":"2026-11-22T10:00:00Z"}`, nil},
		"a time for a text":      {`{"a":"soon"}`, `{"a":"2026-11-22T10:00:00Z"}`, []string{`a: "2026-11-22T10:00:00Z" instead of "soon"`}},
		"fewer elements":         {`[1,2]`, `[1]`, []string{"body: 1 elements instead of 2"}},
		"names made up":          {`{"name":"solid-ostrich"}`, `{"name":"quick-fox"}`, nil},
		"a given word":           {`{"kind":"solid-ostrich"}`, `{"kind":"quick-fox"}`, []string{`kind: "quick-fox" instead of "solid-ostrich"`}},
		"ids":                    {`{"id":"` + idA + `","of":"` + idA + `"}`, `{"id":"` + idB + `","of":"` + idB + `"}`, nil},
		"an id of another":       {`{"id":"` + idA + `","of":"` + idA + `"}`, `{"id":"` + idB + `","of":"` + idC + `"}`, []string{"of: another id than before"}},
		"an id in a text":        {`{"id":"` + idA + `","r":"flow-run.` + idA + `"}`, `{"id":"` + idB + `","r":"flow-run.` + idB + `"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorded, err := parse([]byte(test.recorded))
			require.NoError(t, err)
			ours, err := parse([]byte(test.ours))
			require.NoError(t, err)
			found := (&replay{known: newIdentities()}).compare(recorded, ours)
			require.Equal(t, test.want, found)
		})
	}
}

func TestElementsAreComparedByTheirIDs(t *testing.T) {
	t.Parallel()
	known := newIdentities()
	require.True(t, known.learn(idA, idB))
	recorded, err := parse([]byte(`[{"id":"` + idA + `","n":1},{"id":"` + idC + `","n":2}]`))
	require.NoError(t, err)
	ours, err := parse([]byte(`[{"id":"` + idC + `","n":2},{"id":"` + idB + `","n":1}]`))
	require.NoError(t, err)
	require.Empty(t, (&replay{known: known}).compare(recorded, ours))
}

func TestShift(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		`{"at":"2026-11-21T23:30:00.25Z"}`:       `{"at":"2026-11-22T00:30:00.25Z"}`,
		`2026-11-21 03:42:06.231029+00:00`:       `2026-11-21 04:42:06.231029+00:00`,
		`since 2026-11-21T03:42:06, until later`: `since 2026-11-21T04:42:06, until later`,
		`2026-11-21`:                             `2026-11-21`,
		`2026-13-41T25:61:00Z`:                   `2026-13-41T25:61:00Z`,
	} {
		require.Equal(t, want, shift(from, time.Hour), from)
	}
}

func TestTimesToComeAreAsFarAheadAsRecorded(t *testing.T) {
	t.Parallel()
	recorded := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const text = `{"since":"2026-11-21T11:59:50Z","before":"2026-11-21T12:00:10Z"}`
	parse := func(text string) (since, before time.Time) {
		var window struct{ Since, Before time.Time }
		require.NoError(t, json.Unmarshal([]byte(text), &window))
		return window.Since, window.Before
	}
	for name, calendarFrom := range map[string]time.Time{"lagging": {}, "by the calendar": recorded} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &replay{known: newIdentities(), later: time.Since(recorded), calendarFrom: calendarFrom}
				first, last := parse(r.now(text, recorded))
				time.Sleep(time.Hour) //nolint:forbidigo // In the synctest bubble no real time passes.
				since, before := parse(r.now(text, recorded))
				require.Equal(t, first, since, "the past")
				if calendarFrom.IsZero() {
					last = last.Add(time.Hour)
				}
				require.Equal(t, last, before, "the future")
			})
		})
	}
}

func TestIdentitiesTranslateNamesWithinTexts(t *testing.T) {
	t.Parallel()
	known := newIdentities()
	require.True(t, known.learn("solid-ostrich", "quick-fox"))
	require.False(t, known.learn("solid-ostrich", "slow-fox"))
	require.Equal(t, "child / quick-fox", known.translate("child / solid-ostrich"))
}

func TestRecordingsLoad(t *testing.T) {
	t.Parallel()
	recordings, err := Load("../../pkg/restjson/testdata/traffic")
	require.NoError(t, err)
	require.Len(t, recordings, 9)
	events, reads := 0, 0
	for _, recording := range recordings {
		for n, call := range recording.Calls {
			require.False(t, call.End.Before(call.At))
			require.False(t, n > 0 && call.End.Before(recording.Calls[n-1].End))
			if call.Event != nil {
				events++
			} else if call.reads() {
				reads++
			}
		}
	}
	require.Positive(t, events)
	require.Positive(t, reads)
}

func TestTimesAheadAreCompared(t *testing.T) {
	t.Parallel()
	calendarFrom := time.Date(2027, 1, 26, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		recorded, ours string
		later          time.Duration
		want           []string
	}{
		"the same":                       {"2027-03-28T07:00:00Z", "2027-03-28T07:00:00+00:00", 0, nil},
		"another hour":                   {"2027-03-28T07:00:00Z", "2027-03-28T08:00:00Z", 0, []string{`at: "2027-03-28T08:00:00Z" instead of "2027-03-28T07:00:00Z"`}},
		"of this run":                    {"2026-11-27T09:31:51Z", "2026-11-28T10:00:00Z", 0, nil},
		"a cycle of the calendar later":  {"2027-03-28T07:00:00Z", "2055-03-28T07:00:00Z", calendarCycle, nil},
		"another day, but for the cycle": {"2027-03-28T07:00:00Z", "2027-03-28T07:00:00Z", calendarCycle, []string{`at: "2027-03-28T07:00:00Z" instead of "2055-03-28T07:00:00Z"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := comparison{known: newIdentities(), calendarFrom: calendarFrom, later: test.later}
			c.value("", map[string]any{"at": test.recorded}, map[string]any{"at": test.ours})
			require.Equal(t, test.want, c.found)
		})
	}
}

func TestCyclesKeepTheCalendarAhead(t *testing.T) {
	t.Parallel()
	for since, want := range map[time.Duration]time.Duration{
		time.Hour: 0, monthsAhead - 1: 0, monthsAhead: calendarCycle, calendarCycle: calendarCycle, calendarCycle + monthsAhead: 2 * calendarCycle,
	} {
		require.Equal(t, want, cycles(since), since)
	}
	at := time.Date(2027, 3, 28, 0, 0, 0, 0, time.UTC)
	require.Equal(t, at.Weekday(), at.Add(calendarCycle).Weekday())
	require.Equal(t, at.YearDay(), at.Add(calendarCycle).YearDay())
}
