package conversion

import (
	"regexp"
	"strings"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// candidate matches what looks like a name: a vocabulary's prefix that does not continue another word, and all that follows.
var candidate = regexp.MustCompile(`(?:^|[^\w.-])((?:orch|prefect)(?:-cloud)?\.[\w.*:-]*|__(?:orch|prefect)_kind)`)

// whole matches texts that consist of the characters of names.
var whole = regexp.MustCompile(`^[\w.*:-]+$`)

// bare are texts of which an expression may build names, so nobody knows which.
var bare = inBoth(func(v vocabulary.Vocabulary) []string {
	return []string{v.Name(), v.Name() + ".", v.CloudName(), v.CloudName() + "."}
})

// The reasons to leave a name in a template alone.
const (
	leftInText    = "the name is part of a longer text"
	leftInPayload = "the name is in the payload of the event"
	leftSent      = "the name is in a text that the action sends"
	leftBuilt     = "an expression may build names of it"
	leftUnread    = "the template has an error: "
)

// edit replaces source[start:end].
type edit struct {
	start, end int
	text       string
}

func applyEdits(source string, edits []edit) string {
	if len(edits) == 0 {
		return source
	}
	var out strings.Builder
	at := 0
	for _, e := range edits {
		out.WriteString(source[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.WriteString(source[at:])
	return out.String()
}

// pieces splits a template that can hold names. A template with an error stays as it is: it fails on every use.
func (w *rewriter) pieces(source string) []jinja.Piece {
	if !mayHoldNames(source) {
		return nil
	}
	pieces, err := jinja.Pieces(source)
	if err != nil {
		w.leave(source, leftUnread+err.Error())
	}
	return pieces
}

// actionTemplate rewrites a template of an action: it reads events, so the literals and attributes of its expressions are names.
// The text around them is what the action sends, and stays.
func (w *rewriter) actionTemplate(source string) string {
	var edits []edit
	pieces := w.pieces(source)
	for i, p := range pieces {
		text := source[p.Start:p.End]
		switch p.Kind {
		case jinja.PieceText:
			w.leave(text, leftSent)
		case jinja.PieceString:
			edits = w.literal(edits, p, text)
		case jinja.PieceAttribute:
			edits = w.attribute(edits, source, pieces[:i+1], pieces[i+1:])
		case jinja.PieceName:
		}
	}
	return applyEdits(source, edits)
}

// literal rewrites a string literal of an expression.
func (w *rewriter) literal(edits []edit, p jinja.Piece, text string) []edit {
	_, ok := vocabulary.Owner(text)
	switch {
	case ok && whole.MatchString(text):
		if next := w.noted(text, w.rename(text)); next != text {
			edits = append(edits, edit{p.Start, p.End, next})
		}
	case bare[text]:
		w.notes.left(w.path, text, leftBuilt)
	default:
		w.leave(text, leftInText)
	}
	return edits
}

// attribute rewrites labels that an expression reads by their parts: labels.orch.resource.id.
func (w *rewriter) attribute(edits []edit, source string, until, after []jinja.Piece) []edit {
	text := func(p jinja.Piece) string { return source[p.Start:p.End] }
	p := until[len(until)-1]
	if len(until) < 2 || text(until[len(until)-2]) != "labels" || len(after) == 0 || after[0].Kind != jinja.PieceAttribute {
		return edits
	}
	prefix, name := text(p), text(p)+"."+text(after[0])
	if _, ok := vocabulary.Owner(name); !ok {
		return edits
	}
	next, _, _ := strings.Cut(w.noted(name, w.rename(name)), ".")
	if next == prefix {
		return edits
	}
	return append(edits, edit{p.Start, p.End, next})
}

// leave records each name of a text that stays.
func (w *rewriter) leave(text, why string) {
	for _, found := range candidate.FindAllStringSubmatch(text, -1) {
		if _, ok := vocabulary.Owner(found[1]); ok {
			w.notes.left(w.path, found[1], why)
		}
	}
}

// eventTemplate rewrites a template that makes an event of a request. Its text is JSON around the expressions: names stand at the
// beginnings of texts, except in the payload.
func (w *rewriter) eventTemplate(source string) string {
	var edits []edit
	var scan eventScan
	for _, p := range w.pieces(source) {
		text := source[p.Start:p.End]
		switch p.Kind {
		case jinja.PieceText:
			edits = w.eventText(edits, &scan, p, text)
		case jinja.PieceString:
			edits = w.literal(edits, p, text)
		case jinja.PieceAttribute, jinja.PieceName:
		}
	}
	return applyEdits(source, edits)
}

// eventText rewrites the text of an event's template between two tags.
func (w *rewriter) eventText(edits []edit, scan *eventScan, p jinja.Piece, text string) []edit {
	rest := 0 // The text without edits and notes begins here.
	for at := range len(text) {
		reason := scan.reason()
		begins := scan.next(text[at])
		if reason != scan.reason() {
			w.leave(text[rest:at], reason)
			rest = at
		}
		if !begins {
			continue
		}
		begin := at + 1 // A text begins.
		name := candidateAt(text[begin:])
		_, ok := vocabulary.Owner(name)
		switch {
		case scan.payload:
		case bare[name] && begin+len(name) == len(text): // An expression follows.
			w.notes.left(w.path, name, leftBuilt)
		case ok:
			w.leave(text[rest:begin], scan.reason())
			rest = begin + len(name)
			if next := w.noted(name, w.rename(name)); next != name {
				edits = append(edits, edit{p.Start + begin, p.Start + begin + len(name), next})
			}
		}
	}
	w.leave(text[rest:], scan.reason())
	return edits
}

// candidateAt returns what looks like a name at the beginning of a text.
func candidateAt(text string) string {
	found := candidate.FindStringSubmatchIndex(text)
	if found == nil || found[2] != 0 {
		return ""
	}
	return text[:found[3]]
}

// eventScan follows JSON through the text of a template. Expressions inside are parts of texts or values of their own.
type eventScan struct {
	inText, escaped bool
	depth           int
	key             []byte // The last text at the first level.
	recording       bool
	payload         bool // The value of the payload is being read.
}

// next reads a byte, and reports whether a text begins behind it.
func (s *eventScan) next(c byte) bool {
	switch {
	case s.escaped:
		s.escaped = false
	case s.inText && c == '\\':
		s.escaped = true
	case c == '"':
		s.inText = !s.inText
		s.recording = s.inText && s.depth == 1
		if s.recording {
			s.key = s.key[:0]
		}
		return s.inText
	case s.inText:
		if s.recording {
			s.key = append(s.key, c)
		}
	case c == '{' || c == '[':
		s.depth++
	case c == '}' || c == ']':
		s.depth--
	case c == ':' && s.depth == 1:
		s.payload = string(s.key) == "payload"
	case c == ',' && s.depth == 1:
		s.payload = false
	}
	return false
}

func (s *eventScan) reason() string {
	if s.payload {
		return leftInPayload
	}
	return leftInText
}
