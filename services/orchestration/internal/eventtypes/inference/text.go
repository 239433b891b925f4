package inference

import (
	"errors"
	"fmt"
	"slices"

	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/pkg/jsontree"
)

// JSON returns the text of the schema, without white space. Equal schemas have equal texts. It is nil for a nil schema.
func (s *Schema) JSON() []byte {
	if s == nil {
		return nil
	}
	return s.append(nil)
}

func (s *Schema) append(dst []byte) []byte {
	if s.any {
		return append(dst, "{}"...)
	}
	dst = s.types.append(append(dst, `{"type":`...))
	if name := formatNames[s.format]; name != "" {
		dst = append(append(append(dst, `,"format":"`...), name...), '"')
	}
	if s.items != nil {
		dst = s.items.append(append(dst, `,"items":`...))
	}
	if s.values != nil {
		dst = s.values.append(append(dst, `,"additionalProperties":`...))
	}
	if len(s.properties) > 0 {
		dst = s.appendProperties(dst)
	}
	return append(dst, '}')
}

func (t typeSet) append(dst []byte) []byte {
	var names []string
	for i, name := range typeNames {
		if t.has(1 << i) {
			names = append(names, name)
		}
	}
	if len(names) == 1 {
		return jsontoken.AppendString(dst, names[0])
	}
	return appendTexts(dst, names)
}

func (s *Schema) appendProperties(dst []byte) []byte {
	var required []string
	dst = append(dst, `,"properties":{`...)
	for i, name := range s.names() {
		if i > 0 {
			dst = append(dst, ',')
		}
		one := s.properties[name]
		dst = one.schema.append(append(jsontoken.AppendString(dst, name), ':'))
		if one.required {
			required = append(required, name)
		}
	}
	dst = append(dst, '}')
	if len(required) > 0 {
		dst = appendTexts(append(dst, `,"required":`...), required)
	}
	return dst
}

func appendTexts(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontoken.AppendString(dst, text)
	}
	return append(dst, ']')
}

// errForeign is the error of Parse for a text that JSON does not return.
var errForeign = errors.New("parse an inferred schema: the text is another schema")

// Parse returns the schema of a text that JSON returned; nil for an empty text.
func Parse(text []byte) (*Schema, error) {
	if len(text) == 0 {
		return nil, nil
	}
	o, err := jsontree.ParseObject(text)
	if err != nil {
		return nil, fmt.Errorf("parse an inferred schema: %w", err)
	}
	return parse(o)
}

func parse(value jsontree.Value) (*Schema, error) {
	o, ok := value.(*jsontree.Object)
	if !ok {
		return nil, errForeign
	}
	if o.Len() == 0 {
		return anything, nil
	}
	s := &Schema{}
	for _, name := range textsOf(o, "type") {
		at := slices.Index(typeNames[:], name)
		if at < 0 {
			return nil, errForeign
		}
		s.types |= 1 << at
	}
	if s.types == 0 {
		return nil, errForeign
	}
	if s.types.has(typeString) {
		s.format = formatNone
		for format, name := range formatNames {
			if o.Text("format") == name {
				s.format = format
			}
		}
	}
	var err error
	if items, ok := o.Get("items"); ok {
		if s.items, err = parse(items); err != nil {
			return nil, err
		}
	}
	if values, ok := o.Get("additionalProperties"); ok {
		s.values, err = parse(values)
		return s, err
	}
	required := textsOf(o, "required")
	if s.types.has(typeObject) {
		s.properties = map[string]property{}
	}
	for _, member := range o.Object("properties").Members() {
		schema, err := parse(member.Value)
		if err != nil {
			return nil, err
		}
		s.properties[member.Key] = property{schema, slices.Contains(required, member.Key)}
	}
	return s.bounded(), nil
}

// textsOf returns the texts of a member, which may be one text.
func textsOf(o *jsontree.Object, key string) []string {
	value, _ := o.Get(key)
	switch value := value.(type) {
	case string:
		return []string{value}
	case jsontree.List:
		var texts []string
		for _, item := range value {
			if text, ok := item.(string); ok {
				texts = append(texts, text)
			}
		}
		return texts
	}
	return nil
}
