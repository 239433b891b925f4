//go:build e2esdk

package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// steps are the output of a walk, a line of JSON each.
type steps struct {
	order  []string
	byName map[string]any
}

// parseSteps extracts them from the output of a walk, which also contains output of the SDK.
func parseSteps(output string) (steps, error) {
	s := steps{byName: map[string]any{}}
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var step map[string]any
		if err := json.Unmarshal([]byte(line), &step); err != nil {
			return s, fmt.Errorf("decode step: %w: %s", err, line)
		}
		name, _ := step["step"].(string)
		for n := 2; s.byName[name] != nil; n++ {
			name = fmt.Sprintf("%s (%d)", step["step"], n)
		}
		delete(step, "step")
		s.order, s.byName[name] = append(s.order, name), step
	}
	return s, nil
}

// differ lists the differences between a step of Orch and the reference's: location, actual and expected value.
func differ(theirs, ours any) []string {
	their, our := reflect.TypeOf(theirs), reflect.TypeOf(ours)
	switch {
	case their != our:
		return []string{fmt.Sprintf(": %s instead of %s", short(ours), short(theirs))}
	case reflect.DeepEqual(theirs, ours):
		return nil
	}
	var found []string
	switch theirs := theirs.(type) {
	case map[string]any:
		ours := ours.(map[string]any)
		both := maps.Clone(theirs)
		maps.Copy(both, ours)
		for _, key := range slices.Sorted(maps.Keys(both)) {
			their, has := theirs[key]
			our, have := ours[key]
			switch {
			case !have:
				found = append(found, fmt.Sprintf(" lacks %s: %s", key, short(their)))
			case !has:
				found = append(found, fmt.Sprintf(" adds %s: %s", key, short(our)))
			default:
				for _, difference := range differ(their, our) {
					found = append(found, " "+key+difference)
				}
			}
		}
	case []any:
		ours := ours.([]any)
		if len(theirs) != len(ours) {
			found = append(found, fmt.Sprintf(": %d elements instead of %d", len(ours), len(theirs)))
		}
		for i := range min(len(theirs), len(ours)) {
			for _, difference := range differ(theirs[i], ours[i]) {
				found = append(found, fmt.Sprintf("[%d]%s", i, difference))
			}
		}
	default:
		found = append(found, fmt.Sprintf(": %s instead of %s", short(ours), short(theirs)))
	}
	return found
}

// short formats a value for a message.
func short(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	const enough = 200
	if len(text) > enough {
		return string(text[:enough]) + "…"
	}
	return string(text)
}
