package conversion

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// textPosition is where a text is in a JSON value.
type textPosition struct {
	// path has the keys of the objects around the text, "" for an array. The last one is that of the text itself, unless it is a key.
	path []string
	// key reports that the text is a key.
	key bool
	// levels are the objects and arrays around the text; path[i] is a key of levels[i].
	levels []level
}

// level is an object or an array that is open.
type level struct {
	object bool
	awaits bool   // The next text is a key.
	event  string // The text of the member "event", once it was read.
}

// editJSON returns a JSON value in which edit has replaced texts. Everything else, white space included, stays as it is. Invalid
// JSON stays as it is.
func (w *rewriter) editJSON(text string, edit func(at textPosition, s string) string) (string, error) {
	if !mayHoldNames(text) {
		return text, nil
	}
	out, err := rewriteJSON([]byte(text), edit)
	if errors.As(err, new(*json.SyntaxError)) || errors.Is(err, io.ErrUnexpectedEOF) {
		w.notes.left(w.path, "", "it is not valid JSON")
		return text, nil
	}
	return string(out), err
}

// mayHoldNames reports whether a text can hold a name at all, or hides it by an escape.
func mayHoldNames(text string) bool {
	return strings.Contains(text, vocabulary.Orch.String()) || strings.Contains(text, vocabulary.Prefect.String()) || strings.Contains(text, `\u00`)
}

func rewriteJSON(text []byte, edit func(at textPosition, s string) string) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out []byte
	var levels []level
	var path []string
	copied := int64(0)
	for {
		before := decoder.InputOffset()
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return append(out, text[copied:]...), nil
		}
		if err != nil {
			return nil, fmt.Errorf("read JSON: %w", err)
		}
		after := decoder.InputOffset()
		var top *level
		if len(levels) > 0 {
			top = &levels[len(levels)-1]
		}
		if s, ok := token.(string); ok {
			isKey := top != nil && top.object && top.awaits
			at := textPosition{path: path, key: isKey, levels: levels}
			if isKey {
				at.path = path[:len(path)-1]
			}
			if next := edit(at, s); next != s {
				start := before + int64(bytes.IndexByte(text[before:after], '"'))
				out = jsontoken.AppendString(append(out, text[copied:start]...), next)
				copied = after
			}
			if isKey {
				path[len(path)-1], top.awaits = s, false
				continue
			}
			if top != nil && top.object && path[len(path)-1] == "event" {
				top.event = s
			}
		}
		if delimiter, ok := token.(json.Delim); ok {
			switch delimiter {
			case '{', '[':
				levels = append(levels, level{object: delimiter == '{', awaits: true})
				path = append(path, "")
				continue
			}
			levels, path = levels[:len(levels)-1], path[:len(path)-1]
			top = nil
			if len(levels) > 0 {
				top = &levels[len(levels)-1]
			}
		}
		if top != nil {
			top.awaits = true
		}
	}
}

// marker renames the key that marks a value for hydration.
func (w *rewriter) marker(at textPosition, s string) string {
	if at.key && (s == vocabulary.Orch.KindKey() || s == vocabulary.Prefect.KindKey()) {
		return w.noted(s, w.rename(s))
	}
	return s
}
