package prefectdb

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Resource is a message with an id.
type Resource interface {
	proto.Message
	GetId() string
}

// Kind is a kind of resources.
type Kind struct {
	// Name is the plural of the kind.
	Name string
	// table has the resources, under the alias t.
	table string
	// resource has the fields, and create the bounds of new resources; nil means that there are none.
	resource Resource
	create   proto.Message
	// columns are the columns of fields that do not have the field's name.
	columns map[string]column
	// state is the field with a state of the table below the alias s; empty means none.
	state string
	// joins are further tables by their aliases.
	joins []join
	// extra are columns that finish reads.
	extra []column
	// where selects rows; empty means all.
	where string
	// begin prepares finish, which completes a message, or replaces it; nil means that it is complete.
	begin func(ctx context.Context, s *Source) (finish, error)
}

// finish completes a message with the values of extra columns.
type finish func(m Resource, extra []value) (Resource, error)

// value is the text of a column, or NULL.
type value struct {
	text string
	null bool
}

// column is a column of a table with an alias.
type column struct{ alias, name string }

// join adds a table: its key equals a column of another alias.
type join struct {
	alias, table, key string
	to                column
}

// Row is a row as a resource. A row that is no valid resource has an error.
type Row struct {
	// ID and Name identify the row; a kind without names has its ids alone.
	ID, Name string
	Resource Resource
	Err      error
}

// Label names a row for people.
func (r Row) Label() string {
	if r.Name == "" {
		return r.ID
	}
	return fmt.Sprintf("%s (%s)", r.Name, r.ID)
}

// Count counts the resources of a kind.
func (s *Source) Count(ctx context.Context, k Kind) (n int64, err error) {
	if s.columns[k.table] == nil {
		return 0, nil
	}
	if err := s.tx.QueryRowContext(ctx, "SELECT count(*) FROM "+quoted(k.table)+" t"+k.condition()).Scan(&n); err != nil {
		return 0, fmt.Errorf("count %s: %w", k.Name, err)
	}
	return n, nil
}

func (k Kind) condition() string {
	if k.where == "" {
		return ""
	}
	return " WHERE " + k.where
}

// Each calls visit with every row of a kind, by ascending ids.
func (s *Source) Each(ctx context.Context, k Kind, visit func(Row) error) error {
	if s.columns[k.table] == nil {
		return nil
	}
	complete := func(m Resource, _ []value) (Resource, error) { return m, nil }
	if k.begin != nil {
		var err error
		if complete, err = k.begin(ctx, s); err != nil {
			return fmt.Errorf("read %s: %w", k.Name, err)
		}
	}
	p := s.plan(k)
	err := s.each(ctx, p.query, func(values []sql.RawBytes) error { return visit(p.row(values, complete)) })
	if err != nil {
		return fmt.Errorf("read %s: %w", k.Name, err)
	}
	return nil
}

// field is a field that a query selects.
type field struct {
	name string
	as   valueType
	// null says that NULL is a value of its own, and not the absence of one.
	null bool
	// created says that new resources have the field.
	created bool
	// ofState says that it is a field of the state.
	ofState bool
}

// plan is a query and how its rows become messages.
type plan struct {
	kind   Kind
	source *Source
	query  string
	// fields are the first columns, extra the next; those of absent columns are not selected.
	fields []field
	extra  []bool
	body   []byte
	fresh  []byte
}

// plan selects the fields of a kind that the database has.
func (s *Source) plan(k Kind) *plan {
	p := &plan{kind: k, source: s}
	tables := map[string]string{"t": k.table}
	var from strings.Builder
	from.WriteString(" FROM " + quoted(k.table) + " t")
	for _, j := range k.joins {
		if !s.has(tables, j.to) || s.columns[j.table] == nil {
			continue
		}
		tables[j.alias] = j.table
		fmt.Fprintf(&from, " LEFT JOIN %s %s ON %s = %s", quoted(j.table), j.alias, column{j.alias, j.key}, j.to)
	}
	var selected []string
	add := func(m proto.Message, alias string, create protoreflect.MessageDescriptor) {
		fields := m.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			fd := fields.Get(i)
			name := restjson.Name(fd)
			from, renamed := k.columns[name]
			if !renamed || alias != "t" {
				from = column{alias, name}
			}
			if restjson.Computed(fd) || restjson.Internal(fd) || !s.has(tables, from) {
				continue
			}
			f := field{name: name, as: typeOf(fd), null: fd.HasOptionalKeyword() && restjson.Required(fd), created: bounded(create, fd), ofState: k.state != "" && alias == "s"}
			if name == "total_run_time" {
				f.as = intervalValue
			}
			p.fields = append(p.fields, f)
			selected = append(selected, s.dialect.text(from.String(), f.as))
		}
	}
	var create protoreflect.MessageDescriptor
	if k.create != nil {
		create = k.create.ProtoReflect().Descriptor()
	}
	add(k.resource, "t", create)
	if k.state != "" {
		add(&orchv1.State{}, "s", nil)
	}
	for _, c := range k.extra {
		there := s.has(tables, c)
		p.extra = append(p.extra, there)
		if there {
			selected = append(selected, s.dialect.text(c.String(), textValue))
		}
	}
	// A store inserts ascending ids at less expense.
	p.query = "SELECT " + strings.Join(selected, ", ") + from.String() + k.condition() + " ORDER BY " + column{"t", "id"}.String()
	return p
}

// has reports whether the database has a column.
func (s *Source) has(tables map[string]string, c column) bool {
	return s.columns[tables[c.alias]][c.name]
}

func (c column) String() string { return c.alias + "." + quoted(c.name) }

// typeOf is the type of the column of a field.
func typeOf(fd protoreflect.FieldDescriptor) valueType {
	switch {
	case fd.IsList(), fd.IsMap(), fd.Kind() == protoreflect.BytesKind:
		return jsonValue
	case fd.Message() != nil && fd.Message().FullName() == "google.protobuf.Timestamp":
		return timeValue
	case fd.Message() != nil:
		return jsonValue
	case fd.Kind() == protoreflect.BoolKind:
		return boolValue
	case fd.Kind() == protoreflect.StringKind, fd.Kind() == protoreflect.EnumKind:
		return textValue
	}
	return numberValue
}

// bounded reports whether new resources have a field of the same type, whose bounds the field must keep.
func bounded(create protoreflect.MessageDescriptor, fd protoreflect.FieldDescriptor) bool {
	if create == nil {
		return false
	}
	other := create.Fields().ByName(fd.Name())
	return other != nil && !restjson.Internal(other) && other.Kind() == fd.Kind() && other.Message() == fd.Message() && other.Cardinality() == fd.Cardinality()
}

// row makes a message of a row.
func (p *plan) row(values []sql.RawBytes, complete finish) Row {
	r := p.identify(values)
	m := proto.CloneOf(p.kind.resource)
	p.encode(values)
	if r.Err = restjson.Unmarshal(p.body, m); r.Err != nil {
		return r
	}
	if p.kind.create != nil {
		if r.Err = restjson.Unmarshal(p.fresh, proto.Clone(p.kind.create)); r.Err != nil {
			return r
		}
	}
	var extra []value
	at := len(p.fields)
	for _, there := range p.extra {
		v := value{null: true}
		if there {
			v = value{string(values[at]), values[at] == nil}
			at++
		}
		extra = append(extra, v)
	}
	r.Resource, r.Err = complete(m, extra)
	return r
}

// identify reads the id and the name of a row.
func (p *plan) identify(values []sql.RawBytes) (r Row) {
	for i, f := range p.fields {
		switch {
		case f.ofState || values[i] == nil:
		case f.name == "id":
			r.ID = string(values[i])
		case f.name == "name", f.name == "key", f.name == "tag":
			r.Name = string(values[i])
		}
	}
	return r
}

// encode writes the row as REST JSON: the resource, and what bounds of new resources apply to.
func (p *plan) encode(values []sql.RawBytes) {
	p.body, p.fresh = append(p.body[:0], '{'), append(p.fresh[:0], '{')
	var state []byte
	for i, f := range p.fields {
		if values[i] == nil && !f.null {
			continue
		}
		if f.ofState {
			state = p.member(state, f, values[i])
			continue
		}
		start := len(p.body)
		p.body = p.member(p.body, f, values[i])
		if f.created {
			p.fresh = append(p.fresh, p.body[start:]...)
		}
	}
	if len(state) > 0 {
		p.body = append(append(append(p.body, '"'), p.kind.state...), `":{`...)
		p.body = append(append(p.body, state[:len(state)-1]...), "},"...)
	}
	p.body, p.fresh = closed(p.body), closed(p.fresh)
}

// closed replaces the comma behind the last member by the end of the object.
func closed(object []byte) []byte { return append(bytes.TrimSuffix(object, []byte(",")), '}') }

// member appends a member and a comma.
func (p *plan) member(dst []byte, f field, text []byte) []byte {
	dst = append(append(append(dst, '"'), f.name...), `":`...)
	if text == nil {
		return append(dst, "null,"...)
	}
	switch f.as {
	case numberValue, boolValue, jsonValue:
		dst = append(dst, text...)
	case intervalValue:
		if seconds, ok := p.source.dialect.seconds(string(text)); ok {
			dst = append(dst, seconds...)
		} else {
			dst = appendString(dst, string(text)) // The decoder refuses it, and says why.
		}
	case timeValue:
		dst = appendString(dst, p.source.dialect.time(string(text)))
	case textValue:
		dst = appendString(dst, string(text))
	}
	return append(dst, ',')
}

// falsy are the JSON values that Python takes for false.
func falsy(data []byte) bool {
	return slices.Contains([]string{"", "null", "false", "0", "0.0", `""`, "[]", "{}"}, string(data))
}

// appendString appends a JSON string.
func appendString(dst []byte, text string) []byte {
	encoded, err := json.Marshal(text)
	if err != nil { // Strings have a form in JSON.
		return append(dst, `""`...)
	}
	return append(dst, encoded...)
}
