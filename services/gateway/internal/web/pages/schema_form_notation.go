package pages

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/orch-project/orch/pkg/jsontree"
)

// notation writes a value of a schema as the text of one input. The keyword "notation" of a property names it.
type notation struct {
	// kind is the kind of the input.
	kind string
	// text writes a value.
	text func(jsontree.Value) string
	// value reads a text.
	value func(text string) (jsontree.Value, error)
	// blank reports that an empty text is a value. Otherwise it is null or absent.
	blank bool
	// json reports that a value which the notation cannot write is JSON text, which begins with a bracket.
	json bool
}

func unchangedText(text string) (jsontree.Value, error) { return text, nil }

// notations are the notations by name.
var notations = map[string]*notation{
	// A text of several lines.
	"text": {kind: kindLines, text: plain, value: unchangedText, blank: true},
	// The UUID of an object. A page may offer the objects by name.
	"id": {kind: kindText, text: plain, value: func(text string) (jsontree.Value, error) { return strings.TrimSpace(text), nil }},
	// A text that the page keeps and does not show.
	"hidden": {kind: kindHidden, text: plain, value: unchangedText},
	// A list of texts, one a line.
	"lines": {kind: kindLines, text: linesText, value: linesValue, blank: true, json: true},
	// An object of texts or of lists of texts, as lines of "name = value". An empty line begins another object of a list.
	"labels": {kind: kindLines, text: labelsText, value: labelsValue, blank: true, json: true},
	// A number of seconds, such as "1 h 30 min"; another text stays a text.
	"duration": {kind: kindText, text: durationText, value: durationValue},
	// A number or a text.
	"word": {kind: kindText, text: plain, value: wordValue},
}

// fillNotation sets the kind of a field and the text of its value.
func (f *schemaField) fillNotation(n *notation, value jsontree.Value) {
	f.notation, f.Kind = n, n.kind
	if value == nil {
		return
	}
	f.Value = n.text(value)
	if !n.json {
		return
	}
	read, err := n.read(f.Value)
	if _, differ := difference(value, read, nil); differ || err != nil {
		f.Value = string(jsontree.Text(value))
	}
}

// read reads a text.
func (n *notation) read(text string) (jsontree.Value, error) {
	if trimmed := strings.TrimSpace(text); n.json && trimmed != "" && strings.ContainsRune("{[", rune(trimmed[0])) {
		value, err := jsontree.Parse(trimmed)
		if err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		return value, nil
	}
	return n.value(text)
}

func linesText(v jsontree.Value) string {
	list, ok := v.(jsontree.List)
	if !ok {
		return plain(v)
	}
	var texts []string
	for _, one := range list {
		texts = append(texts, plain(one))
	}
	return strings.Join(texts, "\n")
}

func linesValue(text string) (jsontree.Value, error) {
	list := jsontree.List{}
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list, nil
}

func labelsText(v jsontree.Value) string {
	var b strings.Builder
	objects, isList := v.(jsontree.List)
	if !isList {
		objects = jsontree.List{v}
	}
	for i, one := range objects {
		if i > 0 {
			b.WriteByte('\n')
		}
		labels, _ := one.(*jsontree.Object)
		for _, m := range labels.Members() {
			values, isList := m.Value.(jsontree.List)
			if !isList {
				values = jsontree.List{m.Value}
			}
			for _, value := range values {
				b.WriteString(m.Key + " = " + plain(value) + "\n")
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func labelsValue(text string) (jsontree.Value, error) {
	objects := jsontree.List{}
	labels := jsontree.NewObject()
	number := 0
	for line := range strings.SplitSeq(text+"\n", "\n") {
		number++
		if strings.TrimSpace(line) == "" {
			if labels.Len() > 0 {
				objects = append(objects, labels)
				labels = jsontree.NewObject()
			}
			continue
		}
		name, value, found := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !found || name == "" {
			return nil, fmt.Errorf("line %d: a label is written as name = value", number)
		}
		switch earlier, exists := labels.Get(name); earlier := earlier.(type) {
		case jsontree.List:
			labels.Set(name, append(earlier, value))
		default:
			if exists {
				labels.Set(name, jsontree.List{earlier, value})
			} else {
				labels.Set(name, value)
			}
		}
	}
	switch len(objects) {
	case 0:
		return labels, nil
	case 1:
		return objects[0], nil
	}
	return objects, nil
}

// The units of durations, the largest first.
var durationUnits = []struct {
	name    string
	seconds int64
}{{"d", 86_400}, {"h", 3_600}, {"min", 60}, {"s", 1}}

// maxWrittenSeconds bounds the durations that are written with units, a century.
const maxWrittenSeconds = 100 * 365 * 86_400

func durationText(v jsontree.Value) string {
	number, ok := v.(json.Number)
	if !ok {
		return plain(v)
	}
	seconds, err := number.Float64()
	if err != nil || seconds < 0 || seconds > maxWrittenSeconds || seconds != float64(int64(seconds)) {
		return number.String()
	}
	if seconds == 0 {
		return "0"
	}
	var parts []string
	rest := int64(seconds)
	for _, unit := range durationUnits {
		if n := rest / unit.seconds; n > 0 {
			parts = append(parts, strconv.FormatInt(n, 10)+" "+unit.name)
			rest %= unit.seconds
		}
	}
	return strings.Join(parts, " ")
}

// writtenDuration matches durations with units; each unit is a group. Other words for a unit are accepted.
var writtenDuration = regexp.MustCompile(`^(?:(\d{1,9})\s*d(?:ays?)?)?\s*(?:(\d{1,9})\s*h(?:ours?)?)?\s*(?:(\d{1,9})\s*m(?:in(?:utes?)?)?)?\s*(?:(\d{1,9})\s*s(?:ec(?:onds?)?)?)?$`)

func durationValue(text string) (jsontree.Value, error) {
	text = strings.TrimSpace(text)
	parts := writtenDuration.FindStringSubmatch(text)
	if parts == nil {
		return wordValue(text)
	}
	var seconds int64
	for i, unit := range durationUnits {
		n, _ := strconv.ParseInt("0"+parts[i+1], 10, 64)
		seconds += n * unit.seconds
	}
	return json.Number(strconv.FormatInt(seconds, 10)), nil
}

func wordValue(text string) (jsontree.Value, error) {
	text = strings.TrimSpace(text)
	if value, err := jsontree.Parse(text); err == nil {
		if number, ok := value.(json.Number); ok {
			return number, nil
		}
	}
	return text, nil
}
