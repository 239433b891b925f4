package show

import (
	"fmt"
	"strings"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
)

// StateWord returns the REST name of a state type, such as "RUNNING"; empty for none.
func StateWord(t orchv1.StateType) string {
	name, _ := restjson.EnumWord(t.Descriptor(), t.Number())
	return name
}

// StateWords returns the REST names of all state types.
func StateWords() []string {
	var words []string
	values := orchv1.StateType(0).Descriptor().Values()
	for i := range values.Len() {
		if name := StateWord(orchv1.StateType(values.Get(i).Number())); name != "" {
			words = append(words, name)
		}
	}
	return words
}

// State returns the badge of a state: icon, name and colour. An empty name means the type's own.
func State(t orchv1.StateType, name string) markup.Markup {
	text := StateWord(t)
	if text == "" {
		return markup.Trust(`<span class="state">No state</span>`)
	}
	if name == "" {
		name = text[:1] + strings.ToLower(text[1:])
	}
	class := stateClass(t, name)
	var b markup.Builder
	b.Raw(`<span class="state s-`, class, `">`, icon(class)).Text(Line(name, 40)).Raw("</span>")
	return b.Markup()
}

// stateClass returns the name of a state's colour and icon: its type in lower case, or "late" for a run that should have begun
// and "retry" for one that waits for its next attempt.
func stateClass(t orchv1.StateType, name string) string {
	if t == orchv1.StateType_STATE_TYPE_SCHEDULED {
		switch name {
		case "Late":
			return "late"
		case "AwaitingRetry":
			return "retry"
		}
	}
	return strings.ToLower(StateWord(t))
}

// Icon returns an inline SVG icon that stands beside a word.
func Icon(name string) markup.Markup { return markup.Trust(icon(name)) }

// IconAt returns an icon as a part of a drawing, at a position and of a size in pixels.
func IconAt(name string, x, y, size int) markup.Markup {
	return markup.Trust(fmt.Sprintf(`<svg class="i" x="%d" y="%d" width="%d" height="%[3]d" viewBox="0 0 16 16">%[4]s</svg>`, x, y, size, icons[name]))
}

// icons are the 16 × 16 paths. They are drawn with the colour of the text.
var icons = map[string]string{
	"scheduled":  `<circle cx="8" cy="8" r="6.25"/><path d="M8 4.5V8l2.3 1.4"/>`,
	"late":       `<circle cx="8" cy="8" r="6.25" fill="currentColor"/><path class="on-fill" d="M8 4.5V8l2.3 1.4"/>`,
	"retry":      `<path d="M13.6 8a5.6 5.6 0 1 1-1.7-4"/><path d="M12.4 1.4v3h-3"/>`,
	"pending":    `<circle cx="8" cy="8" r="6.25" class="dotted"/>`,
	"running":    `<path d="M8 1.75a6.25 6.25 0 1 1-6.25 6.25"/>`,
	"completed":  `<circle cx="8" cy="8" r="6.25"/><path d="m5.4 8.2 1.9 1.9 3.5-3.9"/>`,
	"failed":     `<path d="M5.4 1.75h5.2l3.65 3.65v5.2l-3.65 3.65H5.4L1.75 10.6V5.4z" fill="currentColor"/><path class="on-fill" d="m6 6 4 4m0-4-4 4"/>`,
	"crashed":    `<path d="M8 1.9 14.6 13.6H1.4z" fill="currentColor"/><path class="on-fill" d="M8 6.2v3.4m0 1.9v.1"/>`,
	"cancelling": `<circle cx="8" cy="8" r="6.25"/><path d="m4 12 8-8"/>`,
	"cancelled":  `<circle cx="8" cy="8" r="6.25"/><path d="m4 12 8-8"/>`,
	"paused":     `<circle cx="8" cy="8" r="6.25" fill="currentColor"/><path class="on-fill" d="M6.4 5.8v4.4m3.2-4.4v4.4"/>`,

	"home":         `<path d="M2.5 7.5 8 3l5.5 4.5V13h-4V9.5h-3V13h-4z"/>`,
	"runs":         `<circle cx="4" cy="11" r="1.5"/><circle cx="8" cy="6" r="1.5"/><circle cx="12" cy="9" r="1.5"/>`,
	"flows":        `<path d="M2 5h5c3 0 2 6 5 6h2M2 11h3m5-6h4"/>`,
	"deployments":  `<path d="M8 2v8m-3-3 3 3 3-3M3 13h10"/>`,
	"events":       `<path d="M2 8h3l2-5 3 10 2-5h2"/>`,
	"webhooks":     `<circle cx="4" cy="11.5" r="1.8"/><circle cx="12" cy="11.5" r="1.8"/><circle cx="8" cy="4.5" r="1.8"/><path d="M7.2 6.2 5 9.8m3.8-3.6 2.2 3.6M5.8 11.5h4.4"/>`,
	"automations":  `<path d="M9 2 4 9h3.5L7 14l5-7H8.5z"/>`,
	"destinations": `<path d="M2 8h8M7.5 5 10.500 8l-3 3M13.500 3v10"/>`,
	"pools":        `<path d="M2.5 3.5h11v3.5h-11zm0 5.5h11v3.5h-11zM5 5.2h.010M5 10.7h.010"/>`,
	"artifacts":    `<path d="M4 2.5h5L12.5 6v7.5h-8.5zM9 2.5V6h3.5"/>`,
	"variables":    `<path d="M5 3C3 3 4 7 2.5 8 4 9 3 13 5 13m6-10c2 0 1 4 2.5 5-1.5 1-.5 5-2.5 5M7 6.5l2 3m0-3-2 3"/>`,
	"blocks":       `<path d="M8 2 13.5 5v6L8 14l-5.5-3V5zM2.5 5 8 8l5.5-3M8 8v6"/>`,
	"limits":       `<path d="M2.5 12a6 6 0 1 1 11 0M8 9l3-3"/>`,
	"account":      `<circle cx="8" cy="5.5" r="2.5"/><path d="M3 13.5c.5-3 2.5-4 5-4s4.5 1 5 4"/>`,
	"status":       `<path d="M2 8h3l1.5-3 3 6L11 8h3"/>`,
	"api":          `<path d="M5.5 4 2 8l3.5 4m5-8L14 8l-3.5 4"/>`,
	"search":       `<circle cx="7" cy="7" r="4.75"/><path d="m10.5 10.5 3.5 3.5"/>`,
	"copy":         `<path d="M5.5 5.5h7v8h-7zM10.5 5.5v-3h-7v8h2"/>`,
}

// icon returns inline SVG, so that a page needs no request for it. Screen readers skip it.
func icon(name string) string {
	path, ok := icons[name]
	if !ok {
		return ""
	}
	return `<svg class="i" viewBox="0 0 16 16" aria-hidden="true">` + path + `</svg>`
}
