package render

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// LabelError is a label of the other vocabulary in a template that lacks the server's own label of that meaning.
type LabelError struct {
	Label, Own   string
	Line, Column int // Of the label in the template, counted from one.

	own vocabulary.Vocabulary
}

// Error has no position, because a warning shows it beside the line.
func (e *LabelError) Error() string {
	return fmt.Sprintf("the label %s belongs to the vocabulary %s, and this server has the vocabulary %s: write %s",
		e.Label, e.own.Other(), e.own, e.Own)
}

// labelPair is a label in the vocabulary of an engine, and its counterpart.
type labelPair struct {
	own   string
	isOwn *regexp.Regexp

	other   string
	isOther *regexp.Regexp
}

// labelPairs returns the labels of resources.
func labelPairs(v vocabulary.Vocabulary) []labelPair {
	whole := func(label string) *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[^\w.-])(` + regexp.QuoteMeta(label) + `)(?:$|[^\w.-])`)
	}
	other := v.Other()
	var pairs []labelPair
	for _, p := range [][2]string{
		{v.ResourceID(), other.ResourceID()}, {v.ResourceName(), other.ResourceName()}, {v.ResourceRole(), other.ResourceRole()},
	} {
		pairs = append(pairs, labelPair{p[0], whole(p[0]), p[1], whole(p[1])})
	}
	return pairs
}

// ForeignLabels returns the labels of the other vocabulary that a template has instead of the server's own. Comments do not count.
// A template that cannot be split into tokens has none: rendering it fails.
func (e *Engine) ForeignLabels(template string) []*LabelError {
	pieces, err := jinja.Pieces(template)
	if err != nil {
		return nil
	}
	var found []*LabelError
	for _, pair := range e.labels {
		at := -1
		for _, p := range pieces {
			if p.Kind != jinja.PieceText && p.Kind != jinja.PieceString {
				continue
			}
			text := template[p.Start:p.End]
			if pair.isOwn.MatchString(text) {
				at = -1
				break
			}
			if match := pair.isOther.FindStringSubmatchIndex(text); match != nil && at < 0 {
				at = p.Start + match[2]
			}
		}
		if at < 0 {
			continue
		}
		before := template[:at]
		found = append(found, &LabelError{
			Label: pair.other, Own: pair.own, own: e.vocab,
			Line: 1 + strings.Count(before, "\n"), Column: 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]),
		})
	}
	return found
}
