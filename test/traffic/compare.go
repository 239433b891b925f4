package traffic

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// comparison compares a recorded response with the new one and records the differences.
type comparison struct {
	known *identities
	// calendarFrom and later are those of the replay.
	calendarFrom time.Time
	later        time.Duration
	found        []string
}

func (c *comparison) note(path, format string, args ...any) {
	if path == "" {
		path = "body"
	}
	c.found = append(c.found, strings.TrimPrefix(path, ".")+": "+fmt.Sprintf(format, args...))
}

func (c *comparison) value(path string, recorded, ours any) {
	if kindOf(recorded) != kindOf(ours) {
		c.note(path, "%s instead of %s", kindOf(ours), kindOf(recorded))
		return
	}
	switch recorded := recorded.(type) {
	case map[string]any:
		c.object(path, recorded, ours.(map[string]any))
	case []any:
		c.list(path, recorded, ours.([]any))
	case string:
		c.text(path, recorded, ours.(string))
	case json.Number:
		// A number with a fraction is a duration or an average: only its type is comparable.
		if kindOf(recorded) == "integer" && recorded != ours {
			c.note(path, "%s instead of %s", ours, recorded)
		}
	case bool:
		if recorded != ours {
			c.note(path, "%t instead of %t", ours, recorded)
		}
	}
}

func (c *comparison) object(path string, recorded, ours map[string]any) {
	theirs := map[string]any{}
	for key, value := range recorded {
		theirs[c.known.translate(key)] = value
	}
	for _, key := range slices.Sorted(maps.Keys(theirs)) {
		if value, ok := ours[key]; ok {
			c.value(path+"."+anonymous(key), theirs[key], value)
		} else {
			c.note(path, "lacks %s", anonymous(key))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		if _, ok := theirs[key]; !ok {
			c.note(path, "adds %s", anonymous(key))
		}
	}
}

func (c *comparison) list(path string, recorded, ours []any) {
	if len(recorded) != len(ours) {
		c.note(path, "%d elements instead of %d", len(ours), len(recorded))
	}
	for n, index := range c.known.align(recorded, ours) {
		if index >= 0 {
			c.value(path+"[]", recorded[n], ours[index])
		}
	}
}

func (c *comparison) text(path, recorded, ours string) {
	if isTimestamp(recorded) && isTimestamp(ours) {
		if want := shift(recorded, c.later); !c.calendarFrom.IsZero() && isAfter(recorded, c.calendarFrom) && !isSame(want, ours) {
			c.note(path, "%q instead of %q", ours, want)
		}
		return
	}
	if strings.HasSuffix(path, ".name") && madeUp.MatchString(recorded) && madeUp.MatchString(ours) {
		c.learn(path, recorded, ours)
		return
	}
	if strings.HasSuffix(path, "_token") {
		c.known.tokens[recorded] = ours
		return
	}
	theirIDs, ourIDs := uuid.FindAllString(recorded, -1), uuid.FindAllString(ours, -1)
	if len(theirIDs) == len(ourIDs) {
		for n, id := range theirIDs {
			c.learn(path, id, ourIDs[n])
		}
	}
	if want := c.known.translate(recorded); anonymous(want) != anonymous(ours) {
		c.note(path, "%q instead of %q", anonymous(ours), anonymous(want))
	}
}

func (c *comparison) learn(path, recorded, ours string) {
	if !c.known.learn(recorded, ours) {
		c.note(path, "another id than before")
	}
}

// kindOf returns the JSON type of a value; it distinguishes integers from other numbers, as the recording does.
func kindOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		return "array"
	default:
		return "object"
	}
}
