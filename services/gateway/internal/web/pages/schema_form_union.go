package pages

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// An object of several kinds, whose schema has a discriminator, is a choice of the kind and the fields of the chosen kind. The button
// beside the choice submits the form like the buttons of lists, and the form that is built from it has the fields of the other kind.
// Fields of both kinds keep their text.

// chooseButton is the name of the button; its value is not read.
const chooseButton = "choose-kind"

// variant is one kind of a union.
type variant struct {
	kind, title string
	schema      *jsontree.Object
}

// variants returns the kinds of a union and the name of the member that distinguishes them; empty for another schema.
func (b *schemaFields) variants(property *jsontree.Object) (tag string, all []variant) {
	tag = property.Object("discriminator").Text("propertyName")
	if tag == "" {
		return "", nil
	}
	alternatives, _ := b.alternatives(property)
	for _, alternative := range alternatives {
		schema, _ := b.resolve(alternative)
		declared := schema.Object("properties").Object(tag)
		kind := declared.Text("const")
		if options, ok := member(declared, "enum").(jsontree.List); ok && len(options) == 1 {
			kind, _ = options[0].(string)
		}
		if kind == "" {
			return "", nil
		}
		v := variant{kind: kind, title: show.Line(schema.Text("title"), 60), schema: schema}
		if v.title == "" {
			v.title = show.Line(kind, 60)
		}
		all = append(all, v)
	}
	return tag, all
}

// addUnion adds the choice of the kind of an object and the fields of that kind. It reports false for a value that needs JSON text: null,
// a value of no kind, and an object that is too deep.
func (b *schemaFields) addUnion(f schemaField, property *jsontree.Object, value jsontree.Value) bool {
	tag, variants := b.variants(property)
	object, isObject := value.(*jsontree.Object)
	if len(variants) == 0 || f.nullable || value != nil && !isObject || len(f.path) > maxNesting {
		return false
	}
	kind := object.Text(tag)
	posted, wasPosted := b.posted[f.Name+"/"+tag]
	_, text := b.posted[f.Name]
	switch {
	case wasPosted:
		typed, _ := jsontree.Parse(posted[0])
		kind, _ = typed.(string)
	case text || len(b.fields) >= maxFields:
		return false
	}
	chosen := slices.IndexFunc(variants, func(v variant) bool { return v.kind == kind })
	if chosen < 0 {
		if isObject && kind != "" {
			return false
		}
		chosen = 0
	}

	f.Kind = kindGroupStart
	b.fields = append(b.fields, f)
	choices := schemaField{Kind: kindChoice, Name: f.Name + "/" + tag, path: append(slices.Clip(f.path), tag), Title: "Kind", Chooses: f.Name}
	for i, v := range variants {
		choices.Choices = append(choices.Choices, choice{Value: string(jsontree.Text(v.kind)), Title: v.title, Selected: i == chosen})
	}
	b.fields = append(b.fields, choices)
	fields := variants[chosen].schema.Clone()
	properties := fields.Object("properties").Clone()
	properties.Delete(tag)
	fields.Set("properties", properties)
	b.add(fields, object, f.path)
	b.fields = append(b.fields, schemaField{Kind: kindGroupEnd})
	b.buttons = true
	return true
}

// titleOfChoice words a choice, by the titles that its schema has for values.
func titleOfChoice(property *jsontree.Object, option jsontree.Value) string {
	if title := property.Object("titles").Text(plain(option)); title != "" {
		return title
	}
	switch option {
	case true:
		return "yes"
	case false:
		return "no"
	}
	return plain(option)
}

// difference returns the path of the first value of an object that another object lacks or has otherwise. Null is like an absent member,
// an empty value like its default, and a list of one like its entry.
func difference(given, read jsontree.Value, path []string) (at []string, differ bool) {
	if list, ok := given.(jsontree.List); ok && len(list) == 1 {
		if _, both := read.(jsontree.List); !both {
			given = list[0]
		}
	}
	switch given := given.(type) {
	case nil:
		return nil, false
	case *jsontree.Object:
		other, ok := read.(*jsontree.Object)
		if !ok {
			return path, given.Len() > 0
		}
		for _, m := range given.Members() {
			if at, differ := difference(m.Value, member(other, m.Key), append(slices.Clip(path), m.Key)); differ {
				return at, true
			}
		}
		return nil, false
	case jsontree.List:
		other, ok := read.(jsontree.List)
		if !ok || len(other) != len(given) {
			return path, len(given) > 0 || len(other) > 0
		}
		for i, v := range given {
			if at, differ := difference(v, other[i], append(slices.Clip(path), strconv.Itoa(i))); differ {
				return at, true
			}
		}
		return nil, false
	case json.Number:
		if other, ok := read.(json.Number); ok && given != other {
			a, errA := given.Float64()
			b, errB := other.Float64()
			return path, errA != nil || errB != nil || a != b
		}
	}
	return path, !jsontree.Equal(given, read)
}
