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

// shift moves the times in a text by a duration and keeps their formats; it leaves all other text unchanged.
func shift(text string, by time.Duration) string {
	return timestamp.ReplaceAllStringFunc(text, func(found string) string {
		for _, layout := range layouts {
			if found[10] == ' ' {
				layout = strings.Replace(layout, "T", " ", 1)
			}
			if at, err := time.Parse(layout, found); err == nil {
				return at.Add(by).Format(layout)
			}
		}
		return found
	})
}

// isTimestamp reports whether a text is exactly a time.
func isTimestamp(text string) bool { return timestamp.FindString(text) == text && text != "" }
