package pages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/jsontree"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// schemaForm has the inputs for an object of a JSON Schema: the parameters of a deployment, or the input of a paused run.
type schemaForm struct {
	// Fields are in the order of the page. A group of nested fields is between a groupStart and a groupEnd.
	Fields []schemaField
	// JSON is the text of the whole object, for a schema without properties.
	JSON     string
	UsesJSON bool
	// HasButtons reports that buttons of lists or kinds precede the submit button. Enter presses the first button of a form, so the
	// template begins such a form with a hidden submit button.
	HasButtons bool
	Errors     []string

	// resized reports that the reader pressed such a button. The form is shown again with other fields, and nothing is sent.
	resized bool
}

// schemaField is an input for one value, or an edge of a group.
type schemaField struct {
	Name, Title, Hint, Value, Error string
	// Kind is one of the kinds below.
	Kind     string
	Checked  bool
	Required bool
	Choices  []choice
	// Entry is the name of the entry of a list that the field begins, for the button that removes it.
	Entry string
	// Add is the name of the list that the field ends, for the button that adds an entry; empty for a full list.
	Add string
	// Present is the name of the hidden input of a group that a reader may add and remove; empty for another group.
	Present string
	// Chooses is the name of the object whose kind the field chooses, for the button that shows the fields of the kind.
	Chooses string

	// path are the keys of the value from the outermost object.
	path []string
	// nullable reports that an empty input means null.
	nullable bool
	// local reports a time without zone.
	local bool
	// notation reads the text; nil for a field that is read by its kind.
	notation *notation
	// objects names the list of objects that the page may offer by name.
	objects string
}

// The kinds of fields. Kinds of text with a type are the names of HTML inputs.
const (
	kindText       = "text"
	kindLines      = "lines"
	kindNumber     = "number"
	kindCheckbox   = "checkbox"
	kindChoice     = "choice"
	kindJSON       = "json"
	kindDate       = "date"
	kindTime       = "time"
	kindDateTime   = "datetime-local"
	kindPassword   = "password"
	kindGroupStart = "group"
	kindGroupEnd   = "group-end"
	kindListStart  = "list"
	kindListEnd    = "list-end"
	kindHidden     = "hidden"
)

// The depth of groups in groups, and the number of fields, from which an object is JSON text.
const (
	maxNesting = 4
	maxFields  = 200
)

// newSchemaForm builds the inputs of a schema and fills them with values.
func newSchemaForm(r *page.Request, schema []byte, values *jsontree.Object) schemaForm {
	root, err := jsontree.ParseObject(schema)
	if err != nil || root.Object("properties").Len() == 0 {
		return schemaForm{UsesJSON: member(root, "additionalProperties") != false, JSON: indent(values)}
	}
	b := schemaFields{root: root, zone: r.Zone, posted: r.Form}
	resized := resizeList(r.Form)
	b.add(root, values, nil)
	f := schemaForm{Fields: b.fields, HasButtons: b.buttons, resized: resized}
	if b.full {
		f.Errors = append(f.Errors, "The lists have more entries than a form can have.")
	}
	return f
}

// schemaFields collects the fields of a schema.
type schemaFields struct {
	root   *jsontree.Object
	zone   *time.Location
	posted url.Values
	fields []schemaField
	// buttons reports that a field is a list or has a kind.
	buttons bool
	// full reports that entries of a posted list were left out.
	full bool
}

// add adds the properties of an object of the schema.
func (b *schemaFields) add(object, values *jsontree.Object, path []string) {
	var required []string
	if list, ok := member(object, "required").(jsontree.List); ok {
		for _, name := range list {
			required = append(required, fmt.Sprint(name))
		}
	}
	members := slices.Clone(object.Object("properties").Members())
	slices.SortStableFunc(members, func(a, b jsontree.Member) int { return position(a) - position(b) })
	for _, m := range members {
		declared, _ := m.Value.(*jsontree.Object)
		property, nullable := b.resolve(declared)
		value, given := values.Get(m.Key)
		if !given {
			value = member(property, "default")
		}
		f := schemaField{
			path: append(slices.Clip(path), m.Key), nullable: nullable, Required: slices.Contains(required, m.Key) && !nullable,
			Title: show.Line(property.Text("title"), 60), Hint: show.Line(property.Text("description"), 300),
		}
		f.Name = "p." + strings.Join(f.path, "/")
		if f.Title == "" {
			f.Title = show.Line(m.Key, 60)
		}
		b.addValue(f, property, value)
	}
}

// addValue adds the fields of one value: an input, a group of nested fields, or a list of entries.
func (b *schemaFields) addValue(f schemaField, property *jsontree.Object, value jsontree.Value) {
	nested, isObject := value.(*jsontree.Object)
	_, written := notations[property.Text("notation")]
	switch {
	case written:
		f.fill(property, value, b.zone)
		b.fields = append(b.fields, f)
	case b.addUnion(f, property, value):
	case property.Object("properties").Len() > 0 && !f.nullable && (isObject || value == nil) && len(f.path) <= maxNesting && len(b.fields) < maxFields:
		f.Kind = kindGroupStart
		b.fields = append(b.fields, f)
		if !isObject {
			nested = jsontree.NewObject()
		}
		b.add(property, nested, f.path)
		b.fields = append(b.fields, schemaField{Kind: kindGroupEnd})
	case b.addOptional(f, property, value):
	case b.addList(f, property, value):
	default:
		f.fill(property, value, b.zone)
		b.fields = append(b.fields, f)
	}
}

// maxReferences bounds a chain of references, which may be a circle.
const maxReferences = 8

// resolve returns a schema with what it refers to, and whether it allows null. Its own keywords win.
func (b *schemaFields) resolve(declared *jsontree.Object) (property *jsontree.Object, nullable bool) {
	property = jsontree.NewObject()
	merge := func(from *jsontree.Object) {
		for _, m := range from.Members() {
			if _, exists := property.Get(m.Key); !exists {
				property.Set(m.Key, m.Value)
			}
		}
	}
	merge(declared)
	for range maxReferences {
		if reference := property.Text("$ref"); reference != "" {
			property.Delete("$ref")
			merge(b.referred(reference))
			continue
		}
		alternatives, null := b.alternatives(property)
		nullable = nullable || null || member(property, "nullable") == true
		if len(alternatives) != 1 {
			break
		}
		for _, key := range []string{"anyOf", "oneOf", "allOf"} {
			property.Delete(key)
		}
		merge(alternatives[0])
	}
	if types, ok := member(property, "type").(jsontree.List); ok {
		others := slices.DeleteFunc(slices.Clone(types), func(v jsontree.Value) bool { return v == "null" })
		nullable = nullable || len(others) < len(types)
		if len(others) == 1 {
			property.Set("type", others[0])
		}
	}
	return property, nullable
}

// alternatives returns the schemas that a value may have, and whether null is one of them.
func (b *schemaFields) alternatives(property *jsontree.Object) (others []*jsontree.Object, null bool) {
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := member(property, key).(jsontree.List)
		for _, v := range list {
			one, _ := v.(*jsontree.Object)
			if one.Text("type") == "null" {
				null = true
			} else {
				others = append(others, one)
			}
		}
	}
	return others, null
}

// referred returns the part of the schema that a reference such as "#/$defs/Address" names; empty for none.
func (b *schemaFields) referred(reference string) *jsontree.Object {
	path, inside := strings.CutPrefix(reference, "#/")
	if !inside {
		return jsontree.NewObject()
	}
	at := b.root
	for part := range strings.SplitSeq(path, "/") {
		at = at.Object(strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
	}
	return at
}

// fill chooses the kind of a field and sets its value.
func (f *schemaField) fill(property *jsontree.Object, value jsontree.Value, zone *time.Location) {
	options, isChoice := member(property, "enum").(jsontree.List)
	if constant, ok := property.Get("const"); ok {
		options, isChoice = jsontree.List{constant}, true
	}
	kind := property.Text("type")
	if kind == "boolean" && (f.nullable || f.Required && value == nil) { // An empty check box would answer for its reader.
		options, isChoice = jsontree.List{true, false}, true
	}
	n, written := notations[property.Text("notation")]
	switch {
	case written:
		f.objects = property.Text("objects")
		f.fillNotation(n, value)
	case isChoice:
		f.Kind = kindChoice
		if value == nil {
			f.Choices = append(f.Choices, choice{Title: "–", Selected: true})
		} else if f.nullable {
			f.Choices = append(f.Choices, choice{Title: "–"})
		}
		for _, option := range options {
			if option != nil {
				f.Choices = append(f.Choices, choice{Value: string(jsontree.Text(option)), Title: titleOfChoice(property, option), Selected: jsontree.Equal(option, value)})
			}
		}
	case kind == "boolean":
		f.Kind, f.Checked, f.Required = kindCheckbox, value == true, false
	case kind == "integer" || kind == "number":
		f.Kind, f.Value = kindNumber, plain(value)
	case kind == "string":
		f.fillText(property, plain(value), zone)
	default:
		f.Kind = kindJSON
		if value != nil {
			f.Value = string(jsontree.Text(value))
		}
	}
}

// The forms of a time in a browser's input, and in JSON without a zone.
var localTimes = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05.999999999"}

func (f *schemaField) fillText(property *jsontree.Object, value string, zone *time.Location) {
	f.Kind, f.Value = kindText, value
	fits := func(layouts ...string) bool {
		_, err := parseTime(value, time.UTC, layouts...)
		return value == "" || err == nil
	}
	switch format := property.Text("format"); {
	case format == "password" || member(property, "writeOnly") == true:
		f.Kind, f.Value = kindPassword, "" // An empty input keeps the default.
		f.Required = f.Required && value == ""
	case format == "date" && fits(time.DateOnly):
		f.Kind = kindDate
	case format == "time" && fits("15:04:05", "15:04"):
		f.Kind = kindTime
	case format == "date-time":
		if at, err := time.Parse(time.RFC3339, value); err == nil {
			f.Kind, f.Value = kindDateTime, at.In(zone).Format(localTimes[0])
		} else if fits(localTimes...) {
			f.Kind, f.local = kindDateTime, value != ""
		}
		if f.Kind == kindDateTime && !f.local {
			f.Hint = strings.TrimSpace(f.Hint + " (" + zone.String() + ")")
		}
	case strings.Contains(value, "\n"):
		f.Kind = kindLines
	}
}

func parseTime(value string, zone *time.Location, layouts ...string) (at time.Time, err error) {
	for _, layout := range layouts {
		if at, err = time.ParseInLocation(layout, value, zone); err == nil {
			return at, nil
		}
	}
	return at, err
}

// submitted returns the values that a browser sends for a form that its reader leaves unchanged.
func (f *schemaForm) submitted() url.Values {
	form := url.Values{}
	if f.UsesJSON {
		form.Set("parameters", f.JSON)
	}
	for _, field := range f.Fields {
		switch value := strings.ReplaceAll(field.Value, "\x00", "\uFFFD"); field.Kind {
		case kindGroupEnd, kindListEnd:
		case kindGroupStart:
			if field.Present != "" {
				form.Set(field.Present, "1")
			}
		case kindCheckbox:
			if field.Checked {
				form.Set(field.Name, "1")
			}
		case kindChoice:
			for i, c := range field.Choices {
				if i == 0 || c.Selected {
					form.Set(field.Name, c.Value)
				}
			}
		case kindLines, kindJSON, kindHidden:
			form.Set(field.Name, strings.ReplaceAll(newlines(value), "\r", "\n"))
		default:
			form.Set(field.Name, strings.NewReplacer("\r", "", "\n", "").Replace(value))
		}
	}
	return form
}

// read returns the object that was typed. Values that do not parse are marked in the form, which then is not ok.
func (f *schemaForm) read(r *page.Request) (values *jsontree.Object, ok bool) {
	values = jsontree.NewObject()
	if f.UsesJSON {
		f.JSON = newlines(r.Form.Get("parameters"))
		object, err := jsontree.ParseObject([]byte(f.JSON))
		if err != nil {
			f.Errors = append(f.Errors, "The text is not a JSON object: "+err.Error())
			return values, false
		}
		return object, true
	}
	ok = len(f.Errors) == 0
	open := []*container{{object: values}} // The outermost first.
	for i := range f.Fields {
		field := &f.Fields[i]
		innermost := open[len(open)-1]
		switch field.Kind {
		case kindGroupStart:
			open = append(open, &container{field: field, object: jsontree.NewObject()})
			continue
		case kindListStart:
			open = append(open, &container{field: field, list: jsontree.List{}})
			continue
		case kindGroupEnd, kindListEnd:
			open = open[:len(open)-1]
			if value, given := innermost.value(); given {
				open[len(open)-1].add(innermost.field, value)
			}
			continue
		}
		if f.resized && field.Kind != kindCheckbox && !r.Form.Has(field.Name) {
			continue // The field is new, and keeps its default.
		}
		value, given, problem := field.read(r)
		if problem != "" {
			field.Error, ok = problem, false
		} else if given {
			innermost.add(field, value)
		}
	}
	if f.resized {
		f.clearErrors()
	}
	return values, ok && !f.resized
}

const valueRequired = "a value is required"

// read returns the value of an input, unless it is absent, and keeps what was typed.
func (f *schemaField) read(r *page.Request) (value jsontree.Value, given bool, problem string) {
	typed := newlines(r.Form.Get(f.Name))
	if f.Kind != kindPassword {
		f.Value = typed
	}
	if f.Kind == kindCheckbox {
		f.Checked = typed != ""
		return f.Checked, true, ""
	}
	for i := range f.Choices {
		f.Choices[i].Selected = f.Choices[i].Value == typed
	}
	blank := strings.TrimSpace(typed) == ""
	switch {
	case blank && f.Required:
		return nil, false, valueRequired
	case blank && f.nullable && f.Kind != kindPassword:
		return nil, true, ""
	case f.notation != nil:
		if blank && !f.notation.blank {
			return nil, false, ""
		}
		value, err := f.notation.read(typed)
		if err != nil {
			return nil, false, err.Error()
		}
		return value, true, ""
	case blank && f.Kind != kindText && f.Kind != kindLines:
		return nil, false, ""
	}
	switch f.Kind {
	case kindChoice:
		if !slices.ContainsFunc(f.Choices, func(c choice) bool { return c.Value == typed }) {
			return nil, false, "not one of the choices"
		}
	case kindNumber, kindJSON:
	case kindDateTime:
		at, err := parseTime(typed, r.Zone, localTimes...)
		if err != nil {
			return nil, false, "not a time such as 2030-01-31T12:00"
		}
		if f.local {
			return at.Format(localTimes[2]), true, ""
		}
		return at.Format(time.RFC3339Nano), true, ""
	default:
		return typed, true, ""
	}
	value, err := jsontree.Parse(typed)
	if err != nil {
		return nil, false, "not JSON: " + err.Error()
	}
	if _, number := value.(json.Number); f.Kind == kindNumber && !number {
		return nil, false, "not a number"
	}
	return value, true, ""
}

// validate compares values with the schema, and puts the errors beside their fields. A reader who may not call it gets the
// errors of the change itself.
func (f *schemaForm) validate(r *page.Request, schema []byte, values *jsontree.Object) (ok bool) {
	const rpc = orchv1.UiSchemaService_ValidateObj_FullMethodName
	if !r.May(rpc) {
		return true
	}
	checked := apicall.New[*orchv1.SchemaValuesValidationResponse](rpc, apicall.Input{Body: apicall.JSON{"schema": rawJSON(schema), "values": rawJSON(jsontree.Text(values))}})
	if r.Call(checked) != nil {
		return true
	}
	f.assignErrors(checked.Result().GetErrors(), nil)
	return checked.Result().GetValid()
}

// assignErrors puts errors of a validation beside the fields of their values, or above the form.
func (f *schemaForm) assignErrors(errors []*orchv1.SchemaValueError, path []string) {
	for _, e := range errors {
		switch kind := e.GetKind().(type) {
		case *orchv1.SchemaValueError_Property:
			f.assignErrors(kind.Property.GetErrors(), append(slices.Clip(path), kind.Property.GetProperty()))
		case *orchv1.SchemaValueError_Index:
			f.assignErrors(kind.Index.GetErrors(), append(slices.Clip(path), strconv.FormatInt(kind.Index.GetIndex(), 10)))
		case *orchv1.SchemaValueError_Reason:
			f.placeReason(show.Line(kind.Reason, 300), path)
		}
	}
}

// placeReason puts an error beside the field of the longest part of its path.
func (f *schemaForm) placeReason(reason string, path []string) {
	for n := len(path); n > 0; n-- {
		i := slices.IndexFunc(f.Fields, func(field schemaField) bool { return slices.Equal(field.path, path[:n]) })
		if i < 0 || f.Fields[i].Kind == kindHidden {
			continue
		}
		if n < len(path) {
			reason = strings.Join(path[n:], ".") + ": " + reason
		}
		f.Fields[i].Error = strings.TrimPrefix(f.Fields[i].Error+"; "+reason, "; ")
		return
	}
	if len(path) > 0 {
		reason = strings.Join(path, ".") + ": " + reason
	}
	f.Errors = append(f.Errors, reason)
}

// status is the status of a page with the form.
func (f *schemaForm) status() int {
	if f.failed() && !f.resized {
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// failed reports whether the form returns to its reader: with an error, or with another number of entries.
func (f *schemaForm) failed() bool {
	return f.resized || len(f.Errors) > 0 || slices.ContainsFunc(f.Fields, func(field schemaField) bool { return field.Error != "" })
}

func member(o *jsontree.Object, key string) jsontree.Value {
	v, _ := o.Get(key)
	return v
}

func position(m jsontree.Member) int {
	property, _ := m.Value.(*jsontree.Object)
	if n, ok := member(property, "position").(json.Number); ok {
		if i, err := n.Int64(); err == nil && i >= 0 && i < 10_000 {
			return int(i)
		}
	}
	return 10_000
}

// plain formats a scalar for an input; null is empty.
func plain(v jsontree.Value) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return string(jsontree.Text(v))
}

func indent(o *jsontree.Object) string {
	raw := jsontree.Text(o)
	encoded, err := json.MarshalIndent(json.RawMessage(raw), "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(encoded)
}
