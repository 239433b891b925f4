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
	// ahead and later are those of the replay.
	ahead time.Time
	later time.Duration
	found []string
}

func (c *comparison) note(place, format string, args ...any) {
	if place == "" {
		place = "body"
	}
	c.found = append(c.found, strings.TrimPrefix(place, ".")+": "+fmt.Sprintf(format, args...))
}

func (c *comparison) value(place string, recorded, ours any) {
	if kindOf(recorded) != kindOf(ours) {
		c.note(place, "%s instead of %s", kindOf(ours), kindOf(recorded))
		return
	}
	switch recorded := recorded.(type) {
	case map[string]any:
		c.object(place, recorded, ours.(map[string]any))
	case []any:
		c.list(place, recorded, ours.([]any))
	case string:
		c.text(place, recorded, ours.(string))
	case json.Number:
		// A number with a fraction is a duration or an average: only its type is comparable.
		if kindOf(recorded) == "integer" && recorded != ours {
			c.note(place, "%s instead of %s", ours, recorded)
		}
	case bool:
		if recorded != ours {
			c.note(place, "%t instead of %t", ours, recorded)
		}
	}
}

func (c *comparison) object(place string, recorded, ours map[string]any) {
	theirs := map[string]any{}
	for key, value := range recorded {
		theirs[c.known.translate(key)] = value
	}
	for _, key := range slices.Sorted(maps.Keys(theirs)) {
		if value, ok := ours[key]; ok {
			c.value(place+"."+anonymous(key), theirs[key], value)
		} else {
			c.note(place, "lacks %s", anonymous(key))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		if _, ok := theirs[key]; !ok {
			c.note(place, "adds %s", anonymous(key))
		}
	}
}

func (c *comparison) list(place string, recorded, ours []any) {
	if len(recorded) != len(ours) {
		c.note(place, "%d elements instead of %d", len(ours), len(recorded))
	}
	for n, index := range c.known.align(recorded, ours) {
		if index >= 0 {
			c.value(place+"[]", recorded[n], ours[index])
		}
	}
}

func (c *comparison) text(place, recorded, ours string) {
	if isTimestamp(recorded) && isTimestamp(ours) {
		if want := shift(recorded, c.later); !c.ahead.IsZero() && isAfter(recorded, c.ahead) && !isSame(want, ours) {
			c.note(place, "%q instead of %q", ours, want)
		}
		return
	}
	if strings.HasSuffix(place, ".name") && madeUp.MatchString(recorded) && madeUp.MatchString(ours) {
		c.learn(place, recorded, ours)
		return
	}
	if strings.HasSuffix(place, "_token") {
		c.known.tokens[recorded] = ours
		return
	}
	theirIDs, ourIDs := uuid.FindAllString(recorded, -1), uuid.FindAllString(ours, -1)
	if len(theirIDs) == len(ourIDs) {
		for n, id := range theirIDs {
			c.learn(place, id, ourIDs[n])
		}
	}
	if want := c.known.translate(recorded); anonymous(want) != anonymous(ours) {
		c.note(place, "%q instead of %q", anonymous(ours), anonymous(want))
	}
}

func (c *comparison) learn(place, recorded, ours string) {
	if !c.known.learn(recorded, ours) {
		c.note(place, "another id than before")
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
