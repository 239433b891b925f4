package conversion

import (
	"strings"

	"github.com/orch-project/orch/pkg/vocabulary"
)

// payload renames the names in the payload of an event. The payloads of users' events stay, and so do those that the server makes of
// other texts of users. Two kinds have names of the server: a firing embeds the triggering event, and a change of a resource
// has its fields. depth is the number of levels around the payload.
func (w *rewriter) payload(event string, at textPosition, depth int, s string) string {
	v, ok := vocabulary.Owner(event)
	if !ok || len(at.path) < depth+1 {
		return s
	}
	kind, verb, _ := strings.Cut(strings.TrimPrefix(event, v.Name("")), ".")
	switch verb {
	case "created", "updated", "deleted":
		return w.resource(kind, at, depth, s)
	case "triggered", "resolved":
		if kind == "automation" {
			return w.firing(at, depth, s)
		}
	}
	return s
}

// firing renames the names in the payload of a firing's event: the labels of its key, and those of the triggering event.
func (w *rewriter) firing(at textPosition, depth int, s string) string {
	path := at.path[depth:]
	switch path[0] {
	case "triggering_labels":
		return w.label(at, path[1:], s)
	case "triggering_event":
	default:
		return s
	}
	switch event := path[1:]; {
	case len(event) == 0:
	case event[0] == "event" && len(event) == 1 && !at.key:
		return w.name(s)
	case event[0] == "resource":
		return w.label(at, event[1:], s)
	case event[0] == "related" && len(event) > 1:
		return w.label(at, event[2:], s)
	case event[0] == "payload":
		return w.payload(at.levels[depth+1].event, at, depth+2, s)
	}
	return s
}

// label renames a key or a value of an object of labels; below is the path inside the object.
func (w *rewriter) label(at textPosition, below []string, s string) string {
	switch {
	case at.key && len(below) == 0:
		return w.name(s)
	case !at.key && len(below) == 1 && !userTexts[below[0]]:
		return w.name(s)
	}
	return s
}

// resource renames the names in the fields of a resource, as the API shows them: its fields themselves, and those of the member
// "updates" before and after a change.
func (w *rewriter) resource(kind string, at textPosition, depth int, s string) string {
	path := at.path[depth:]
	if path[0] == "updates" && len(path) > 2 {
		path = append([]string{path[1]}, path[3:]...)
	}
	switch kind + "." + path[0] {
	case "automation.trigger":
		return w.triggerJSON(at, path[1:], s)
	case "automation.actions", "automation.actions_on_trigger", "automation.actions_on_resolve":
		return w.actionJSON(at, path[1:], s)
	case "deployment.labels", "flow.labels":
		if at.key && len(path) == 1 {
			return w.name(s)
		}
	case "deployment.parameters", "deployment.job_variables", "deployment.schedules":
		return w.marker(at, s)
	}
	return s
}

// triggerJSON renames the names in a trigger of the API.
func (w *rewriter) triggerJSON(at textPosition, path []string, s string) string {
	for i, key := range path {
		below := path[i+1:]
		switch key {
		case "match", "match_related":
			if len(below) > 0 && below[0] == "" { // One of several specifications.
				below = below[1:]
			}
			switch {
			case at.key && len(below) == 0:
				return w.name(s)
			case !at.key && len(below) > 0 && !userTexts[below[0]]:
				return w.pattern(s)
			}
			return s
		case "after", "expect":
			return w.pattern(s)
		case "for_each":
			return w.forEach(s)
		}
	}
	return s
}

// actionJSON renames the names in an action of the API.
func (w *rewriter) actionJSON(at textPosition, path []string, s string) string {
	if len(path) < 2 { // A key of the action.
		return s
	}
	switch path[1] {
	case "parameters", "job_variables":
		return w.actionValue(at, s)
	case "name", "message", "subject", "body", "payload", "emails":
		return w.actionTemplate(s)
	}
	return s
}

// actionValue renames the names in JSON whose texts are templates of an action.
func (w *rewriter) actionValue(at textPosition, s string) string {
	if at.key {
		return w.marker(at, s)
	}
	return w.actionTemplate(s)
}
