package traffic

import (
	"regexp"
	"time"
)

// timestamp matches a time of day as clients and servers write it in JSON and in queries.
var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?`)

// shift moves the times in a text by a duration; what is no time stays.
func shift(text string, by time.Duration) string {
	return timestamp.ReplaceAllStringFunc(text, func(found string) string {
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
			if at, err := time.Parse(layout, found); err == nil {
				return at.Add(by).Format(layout)
			}
		}
		return found
	})
}

// isTimestamp tells whether a text is a time and nothing else.
func isTimestamp(text string) bool { return timestamp.FindString(text) == text && text != "" }
