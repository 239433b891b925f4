package traffic

import (
	"regexp"
	"strings"
	"time"
)

// timestamp matches a time in the formats of clients and servers, in JSON and in queries.
var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?`)

// layouts are these formats: with Z, with an offset, or with neither.
var layouts = []string{"2006-01-02T15:04:05.999999Z", "2006-01-02T15:04:05.999999-07:00", "2006-01-02T15:04:05.999999"}

const (
	// calendarCycle is the time after which all dates fall on the same days of the week, and so do changes of clocks: 28 years.
	calendarCycle = (28*365 + 7) * 24 * time.Hour
	// monthsAhead is how far ahead of a recording its calendar lies.
	monthsAhead = 60 * 24 * time.Hour
)

// cycles is the number of calendar cycles, as a duration, that keeps a recording's calendar ahead of a time so long after the recording.
func cycles(since time.Duration) time.Duration {
	if since < monthsAhead {
		return 0
	}
	count := int((since-monthsAhead)/calendarCycle) + 1
	return time.Duration(count) * calendarCycle
}

// shift moves the times in a text by a duration and keeps their formats; it leaves all other text unchanged.
func shift(text string, by time.Duration) string {
	return shiftEach(text, func(time.Time) time.Duration { return by })
}

// shiftEach is shift by a duration for each time.
func shiftEach(text string, by func(time.Time) time.Duration) string {
	return timestamp.ReplaceAllStringFunc(text, func(found string) string {
		for _, layout := range layouts {
			if found[10] == ' ' {
				layout = strings.Replace(layout, "T", " ", 1)
			}
			if at, err := time.Parse(layout, found); err == nil {
				return at.Add(by(at)).Format(layout)
			}
		}
		return found
	})
}

// instant parses a time in one of the layouts.
func instant(text string) (time.Time, bool) {
	for _, layout := range layouts {
		if at, err := time.Parse(layout, strings.Replace(text, " ", "T", 1)); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

func isAfter(text string, limit time.Time) bool {
	at, ok := instant(text)
	return ok && at.After(limit)
}

func isSame(a, b string) bool {
	first, ok := instant(a)
	second, also := instant(b)
	return ok && also && first.Equal(second)
}

// isTimestamp reports whether a text is exactly a time.
func isTimestamp(text string) bool { return timestamp.FindString(text) == text && text != "" }
