package pages

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// A list of a schema is a row of entries, each an input or a group of inputs. A hidden input says how many entries the page has. The
// buttons that add and remove an entry submit the form, so they work without scripts: resizeList changes the posted names, and the form
// that is built from them has the other number of entries and everything that was typed.
const (
	// entriesSuffix ends the name of the hidden input. Entries have numbers as keys, so no entry has the same name.
	entriesSuffix = "/#"
	// addButton and removeButton are the names of the buttons; their values name the list, or the entry.
	addButton    = "add-entry"
	removeButton = "remove-entry"
)

// The number of entries of a list, and of fields of a form, from which a list is JSON text. A posted form may have more fields, because
// the reader added entries.
const (
	maxEntries      = 100
	maxFilledFields = 1_000
	maxPostedFields = 2_000
)

// container is an object or a list while its values are read.
type container struct {
	field  *schemaField
	object *jsontree.Object
	list   jsontree.List
}

// add adds the value of a field.
func (c *container) add(field *schemaField, value jsontree.Value) {
	if c.object != nil {
		c.object.Set(field.path[len(field.path)-1], value)
	} else {
		c.list = append(c.list, value)
	}
}

// value returns the object or the list. A list that nobody began is absent, or null where the schema allows null.
func (c *container) value() (value jsontree.Value, given bool) {
	switch {
	case c.object != nil:
		return c.object, true
	case c.field.Value != "":
		return c.list, true
	}
	return nil, c.field.nullable
}

// addList adds the fields of a list. It reports false for a value that needs JSON text: no list, a list without one schema for all entries,
// a list of secrets, or a long list.
func (b *schemaFields) addList(f schemaField, property *jsontree.Object, value jsontree.Value) bool {
	items, isSchema := member(property, "items").(*jsontree.Object)
	if !isSchema || len(f.path) > maxNesting {
		return false
	}
	item, nullable := b.resolve(items)
	if !editableEntry(item) || b.hasSecret(item, 0) {
		return false
	}
	values, isList := value.(jsontree.List)
	count := strconv.Itoa(len(values))
	if posted, ok := b.posted[f.Name+entriesSuffix]; ok {
		count, values = posted[0], nil
	} else if _, text := b.posted[f.Name]; text || value != nil && !isList || len(values) > maxEntries {
		return false
	} else if !isList {
		count = firstCount(f, property)
	}

	before := len(b.fields)
	list := f
	list.Kind, list.Value = kindListStart, count
	list.Name += entriesSuffix
	b.fields = append(b.fields, list)
	entries, _ := strconv.Atoi(count)
	for i := range entries {
		if i == maxEntries || len(b.fields) >= maxPostedFields {
			b.full = true
			break
		}
		number := strconv.Itoa(i)
		entry := schemaField{
			Name: f.Name + "/" + number, Entry: f.Name + "/" + number, path: append(slices.Clip(f.path), number), nullable: nullable, Required: !nullable && !isText(item),
			Title: show.Line(item.Text("title"), 60), Hint: show.Line(item.Text("description"), 300),
		}
		if entry.Title == "" {
			entry.Title = f.Title
		}
		entry.Title += " " + strconv.Itoa(i+1)
		filled := member(item, "default")
		if i < len(values) {
			filled = values[i]
		}
		b.addValue(entry, item, filled)
	}
	if values != nil && len(b.fields) > maxFilledFields {
		b.fields = b.fields[:before]
		return false
	}
	end := schemaField{Kind: kindListEnd}
	if entries < maxEntries && len(b.fields) < maxFilledFields {
		end.Add = f.Name
	}
	b.fields = append(b.fields, end)
	b.buttons = true
	return true
}

// addOptional adds an object that may be null: the group of its fields, or the button that adds the group. The form treats it as a
// list of at most one entry, with the buttons of a list. It reports false for a value that needs JSON text.
func (b *schemaFields) addOptional(f schemaField, property *jsontree.Object, value jsontree.Value) bool {
	object, isObject := value.(*jsontree.Object)
	if property.Object("properties").Len() == 0 || !f.nullable || value != nil && !isObject || len(f.path) > maxNesting || len(b.fields) >= maxFields ||
		b.hasSecret(property, 0) {
		return false
	}
	count, posted := b.posted[f.Name+entriesSuffix]
	if _, text := b.posted[f.Name]; text && !posted {
		return false
	}
	b.buttons = true
	if posted && count[0] != "1" || !posted && !isObject {
		none := f
		none.Kind = kindListStart
		none.Name += entriesSuffix
		b.fields = append(b.fields, none, schemaField{Kind: kindListEnd, Add: f.Name})
		return true
	}
	f.Kind, f.Entry, f.Present = kindGroupStart, f.Name+"/0", f.Name+entriesSuffix
	b.fields = append(b.fields, f)
	if !isObject {
		object = jsontree.NewObject()
	}
	b.add(property, object, f.path)
	b.fields = append(b.fields, schemaField{Kind: kindGroupEnd})
	return true
}

// firstCount returns the initial number of entries of a list without a value: the minimum of the schema for a required list, and empty for
// an absent one.
func firstCount(f schemaField, property *jsontree.Object) string {
	if least, ok := member(property, "minItems").(json.Number); ok && f.Required {
		if n, err := least.Int64(); err == nil && n > 0 && n <= maxEntries {
			return strconv.FormatInt(n, 10)
		}
	}
	if f.Required && !f.nullable {
		return "0"
	}
	return ""
}

// editableEntry reports whether entries of a schema have inputs of their own: objects with properties or kinds, choices and scalars.
func editableEntry(item *jsontree.Object) bool {
	if _, choices := item.Get("enum"); choices || item.Object("properties").Len() > 0 || item.Object("discriminator").Len() > 0 {
		return true
	}
	return slices.Contains([]string{"string", "number", "integer", "boolean"}, item.Text("type"))
}

// isText reports whether an empty input is a value.
func isText(item *jsontree.Object) bool {
	_, choices := item.Get("enum")
	return item.Text("type") == "string" && item.Text("format") == "" && !choices
}

// hasSecret reports whether a value of the schema may hold a secret. Its input would not show the value, and an empty input keeps the
// stored value, which only values outside lists have.
func (b *schemaFields) hasSecret(schema *jsontree.Object, depth int) bool {
	if schema.Text("format") == "password" || member(schema, "writeOnly") == true {
		return true
	}
	if depth > maxNesting {
		return false
	}
	inner := schema.Object("properties").Members()
	if items, ok := member(schema, "items").(*jsontree.Object); ok {
		inner = append(slices.Clip(inner), jsontree.Member{Value: items})
	}
	alternatives, _ := b.alternatives(schema)
	for _, alternative := range alternatives {
		inner = append(slices.Clip(inner), jsontree.Member{Value: alternative})
	}
	return slices.ContainsFunc(inner, func(m jsontree.Member) bool {
		declared, _ := m.Value.(*jsontree.Object)
		property, _ := b.resolve(declared)
		return b.hasSecret(property, depth+1)
	})
}

// resizeList adds an entry to a list of a posted form, or removes one, if its button was pressed. It reports whether that button or the one
// of a kind was pressed. It removes the button from the form, so that a form that is built again stays as it is.
func resizeList(form url.Values) bool {
	defer form.Del(addButton)
	defer form.Del(removeButton)
	if form.Has(chooseButton) {
		form.Del(chooseButton)
		return true
	}
	if list := form.Get(addButton); list != "" {
		count, _ := strconv.Atoi(form.Get(list + entriesSuffix))
		form.Set(list+entriesSuffix, strconv.Itoa(min(count+1, maxEntries)))
		return true
	}
	entry := form.Get(removeButton)
	if entry == "" {
		return false
	}
	slash := strings.LastIndexByte(entry, '/')
	if slash < 0 {
		return true
	}
	list := entry[:slash]
	removed, err := strconv.Atoi(entry[slash+1:])
	count, errCount := strconv.Atoi(form.Get(list + entriesSuffix))
	if err != nil || errCount != nil || removed < 0 || removed >= count {
		return true
	}
	moved := url.Values{}
	for name, values := range form {
		rest, inside := strings.CutPrefix(name, list+"/")
		number, tail := rest, ""
		if cut := strings.IndexByte(rest, '/'); cut >= 0 {
			number, tail = rest[:cut], rest[cut:]
		}
		at, err := strconv.Atoi(number)
		if !inside || err != nil || at < removed {
			continue
		}
		delete(form, name)
		if at > removed {
			moved[list+"/"+strconv.Itoa(at-1)+tail] = values
		}
	}
	maps.Copy(form, moved)
	form.Set(list+entriesSuffix, strconv.Itoa(count-1))
	return true
}

// clearErrors removes the errors of inputs, which the reader has not finished.
func (f *schemaForm) clearErrors() {
	f.Errors = nil
	for i := range f.Fields {
		f.Fields[i].Error = ""
	}
}
