package render

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// LabelError is a label of the other vocabulary in a template that lacks the server's own label of that meaning.
type LabelError struct {
	vocabulary.ForeignLabel
	Line, Column int // Of the label in the template, counted from one.

	own vocabulary.Vocabulary
}

// Error has no position, because a warning shows it beside the line.
func (e *LabelError) Error() string { return e.own.LabelAdvice(e.ForeignLabel) }

// labelPattern finds a foreign label, and its own counterpart, in the text of a template.
type labelPattern struct {
	vocabulary.ForeignLabel
	foreign, own *regexp.Regexp
}

// labelPatterns returns the patterns of a server's vocabulary.
func labelPatterns(v vocabulary.Vocabulary) []labelPattern {
	whole := func(label string) *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[^\w.-])(` + regexp.QuoteMeta(label) + `)(?:$|[^\w.-])`)
	}
	var patterns []labelPattern
	for _, l := range v.ForeignLabels() {
		patterns = append(patterns, labelPattern{l, whole(l.Label), whole(l.Own)})
	}
	return patterns
}

// ForeignLabels returns the labels of the other vocabulary that a template has instead of the server's own. Comments do not count.
// A template that cannot be split into tokens has none: rendering it fails.
func (e *Engine) ForeignLabels(template string) []*LabelError {
	pieces, err := jinja.Pieces(template)
	if err != nil {
		return nil
	}
	var found []*LabelError
	for _, pattern := range e.labels {
		at := -1
		for _, p := range pieces {
			if p.Kind != jinja.PieceText && p.Kind != jinja.PieceString {
				continue
			}
			text := template[p.Start:p.End]
			if pattern.own.MatchString(text) {
				at = -1
				break
			}
			if match := pattern.foreign.FindStringSubmatchIndex(text); match != nil && at < 0 {
				at = p.Start + match[2]
			}
		}
		if at < 0 {
			continue
		}
		before := template[:at]
		found = append(found, &LabelError{
			ForeignLabel: pattern.ForeignLabel, own: e.vocab,
			Line: 1 + strings.Count(before, "\n"), Column: 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]),
		})
	}
	return found
}
