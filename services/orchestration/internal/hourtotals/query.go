package hourtotals

import (
	"math"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Query is a filter that rows decide: a workspace, a window, states, names, and whether runs have a parent.
type Query struct {
	kind   *Kind
	ws     uuid.UUID
	window Window
	// timed says that documents without the time do not match.
	timed bool
	tests []test
	rest  bson.D // The filter without the window.
}

// test decides whether a row matches one criterion.
type test func(r *Row) bool

// Parse returns the query of a scoped filter. ok is false if rows do not decide the filter.
func Parse(collection query.Collection, filter bson.Raw) (q Query, ok bool) {
	q = Query{kind: KindOf(collection), window: always}
	elements, err := filter.Elements()
	if q.kind == nil || err != nil {
		return q, false
	}
	scoped := false
	for _, e := range elements {
		key, value := e.Key(), e.Value()
		if key == q.kind.Time {
			if q.timed || !q.within(value) {
				return q, false
			}
			q.timed = true
			continue
		}
		q.rest = append(q.rest, bson.E{Key: key, Value: value})
		if key == "ws" {
			_, id, is := value.BinaryOK()
			if q.ws, err = uuid.FromBytes(id); !is || err != nil {
				return q, false
			}
			scoped = true
			continue
		}
		criterion, is := q.kind.test(key, value)
		if !is {
			return q, false
		}
		q.tests = append(q.tests, criterion)
	}
	return q, scoped
}

// within narrows the window by the conditions on the time.
func (q *Query) within(conditions bson.RawValue) bool {
	doc, ok := conditions.DocumentOK()
	if !ok {
		return false
	}
	elements, err := doc.Elements()
	if err != nil || len(elements) == 0 {
		return false
	}
	for _, e := range elements {
		at, ok := e.Value().Int64OK()
		if !ok || at == math.MaxInt64 {
			return false
		}
		switch e.Key() {
		case "$gte":
			q.window.From = max(q.window.From, at)
		case "$gt":
			q.window.From = max(q.window.From, at+1)
		case "$lt":
			q.window.Until = min(q.window.Until, at)
		case "$lte":
			q.window.Until = min(q.window.Until, at+1)
		default:
			return false
		}
	}
	return true
}

// test returns the test of a criterion, if rows decide it.
func (k *Kind) test(key string, conditions bson.RawValue) (test, bool) {
	var field func(r *Row) *string
	switch {
	case key == k.child && key != "":
		return hasChild(conditions)
	case key == k.state && key != "":
		field = func(r *Row) *string { return r.State }
	case key == k.name:
		field = func(r *Row) *string { return r.Name }
	default:
		return nil, false
	}
	operator, operand, ok := only(conditions)
	if !ok {
		return nil, false
	}
	texts, null, ok := list(operator, operand)
	if !ok {
		return nil, false
	}
	listed := func(r *Row) bool {
		if value := field(r); value != nil {
			return slices.Contains(texts, *value)
		}
		return null
	}
	if operator == "$nin" || operator == "$ne" {
		return func(r *Row) bool { return !listed(r) }, true
	}
	return listed, true
}

// hasChild is the test of whether a field exists.
func hasChild(conditions bson.RawValue) (test, bool) {
	operator, operand, ok := only(conditions)
	if !ok || operand.Type != bson.TypeNull {
		return nil, false
	}
	switch operator {
	case "$eq":
		return func(r *Row) bool { return !r.Child }, true
	case "$ne":
		return func(r *Row) bool { return r.Child }, true
	}
	return nil, false
}

// only returns the operator and the operand of conditions with one operator. A value alone is its equality.
func only(conditions bson.RawValue) (operator string, operand bson.RawValue, ok bool) {
	doc, ok := conditions.DocumentOK()
	if !ok {
		return "$eq", conditions, true
	}
	elements, err := doc.Elements()
	if err != nil || len(elements) != 1 {
		return "", operand, false
	}
	return elements[0].Key(), elements[0].Value(), true
}

// list returns the texts of an operand, and whether it has null.
func list(operator string, operand bson.RawValue) (texts []string, null, ok bool) {
	values := []bson.RawValue{operand}
	switch operator {
	case "$eq", "$ne":
	case "$in", "$nin":
		array, ok := operand.ArrayOK()
		if !ok {
			return nil, false, false
		}
		var err error
		if values, err = array.Values(); err != nil {
			return nil, false, false
		}
	default:
		return nil, false, false
	}
	for _, v := range values {
		text, isText := v.StringValueOK()
		switch {
		case isText:
			texts = append(texts, text)
		case v.Type == bson.TypeNull:
			null = true
		default:
			return nil, false, false
		}
	}
	return texts, null, true
}

// matches reports whether the documents of a row match.
func (q *Query) matches(r *Row) bool {
	for _, test := range q.tests {
		if !test(r) {
			return false
		}
	}
	return true
}

// filter is the filter of the documents of a window.
func (q *Query) filter(w Window) bson.D {
	d := slices.Clone(q.rest)
	if condition := w.filter(); len(condition) > 0 {
		d = append(d, bson.E{Key: q.kind.Time, Value: condition})
	}
	return d
}
