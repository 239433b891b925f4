package match

import (
	"slices"
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Index finds the filters that an event can fit, among many. Two levels narrow them down:
//
//	name:   the whole name, its literal beginning, or any name
//	label:  one exact label of the resource, one of a related resource, or any labels
//
// An index is filled, then used by any number of goroutines.
type Index[T comparable] struct {
	exact    map[string]*labels[T]
	prefixes []prefixes[T] // By length.
	any      labels[T]
	size     int
}

type prefixes[T comparable] struct {
	length int
	texts  map[string]*labels[T]
}

type item[T comparable] struct {
	filter *Filter
	value  T
}

// labels are filters of one name by an exact label.
type labels[T comparable] struct {
	own     map[string]map[string][]item[T]
	related map[string]map[string][]item[T]
	rest    []item[T]
}

// NewIndex returns an empty index.
func NewIndex[T comparable]() *Index[T] { return &Index[T]{exact: map[string]*labels[T]{}} }

// Len returns how many filters were added.
func (x *Index[T]) Len() int { return x.size }

// Add adds a filter under a value.
func (x *Index[T]) Add(f *Filter, value T) {
	x.size++
	it := item[T]{f, value}
	patterns := append(slices.Clone(f.names.expect), f.names.after...)
	if len(f.names.expect) == 0 {
		x.any.add(it)
		return
	}
	seen := map[string]bool{}
	for _, pattern := range patterns {
		special := strings.IndexAny(pattern, "*?[")
		if special == 0 { // One pattern that any name may fit is enough.
			x.any.add(it)
			return
		}
	}
	for _, pattern := range patterns {
		if seen[pattern] {
			continue
		}
		seen[pattern] = true
		if special := strings.IndexAny(pattern, "*?["); special > 0 {
			x.prefix(pattern[:special]).add(it)
			continue
		}
		if x.exact[pattern] == nil {
			x.exact[pattern] = &labels[T]{}
		}
		x.exact[pattern].add(it)
	}
}

func (x *Index[T]) prefix(text string) *labels[T] {
	i := slices.IndexFunc(x.prefixes, func(p prefixes[T]) bool { return p.length == len(text) })
	if i < 0 {
		i = len(x.prefixes)
		x.prefixes = append(x.prefixes, prefixes[T]{len(text), map[string]*labels[T]{}})
	}
	if x.prefixes[i].texts[text] == nil {
		x.prefixes[i].texts[text] = &labels[T]{}
	}
	return x.prefixes[i].texts[text]
}

// MayMatch reports whether a filter may take events of a name.
func (x *Index[T]) MayMatch(name string) bool {
	if x.exact[name] != nil || !x.any.empty() {
		return true
	}
	for _, p := range x.prefixes {
		if len(name) >= p.length && p.texts[name[:p.length]] != nil {
			return true
		}
	}
	return false
}

func (l *labels[T]) empty() bool { return len(l.own) == 0 && len(l.related) == 0 && len(l.rest) == 0 }

// Takers returns the values whose filters take an event, each once, in no order, and the effort of the comparisons. The error matches
// ErrEffort.
func (x *Index[T]) Takers(e *orchv1.ReceivedEvent) (found []T, spent int, err error) {
	if IsLogWrite(e.GetEvent()) {
		return nil, 0, nil
	}
	t := taking[T]{event: e}
	name := e.GetEvent()
	if l := x.exact[name]; l != nil {
		t.labels(l)
	}
	for _, p := range x.prefixes {
		if len(name) >= p.length {
			if l := p.texts[name[:p.length]]; l != nil {
				t.labels(l)
			}
		}
	}
	t.labels(&x.any)
	if err := t.error(); err != nil {
		return nil, t.spent, err
	}
	return t.found, t.spent, nil
}

func (l *labels[T]) add(it item[T]) {
	own := exactRule(it.filter.match)
	if own != nil && !own.isRole() {
		l.own = addTo(l.own, own, it)
		return
	}
	var related *rule
	for _, s := range it.filter.related {
		if r := exactRule(s); r != nil && (related == nil || related.isRole()) {
			related = r
		}
	}
	switch {
	case related != nil && (own == nil || !related.isRole()):
		l.related = addTo(l.related, related, it)
	case own != nil:
		l.own = addTo(l.own, own, it)
	default:
		l.rest = append(l.rest, it)
	}
}

func addTo[T comparable](m map[string]map[string][]item[T], r *rule, it item[T]) map[string]map[string][]item[T] {
	if m == nil {
		m = map[string]map[string][]item[T]{}
	}
	if m[r.label] == nil {
		m[r.label] = map[string][]item[T]{}
	}
	seen := map[string]bool{}
	for i := range r.values {
		text, _ := r.values[i].glob.Exact()
		if !seen[text] {
			seen[text] = true
			m[r.label][text] = append(m[r.label][text], it)
		}
	}
	return m
}

// exactRule returns a rule that lists the values a label may have, nil if a specification has none. A rule for the role of a
// resource is the last choice, because many resources have the same role.
func exactRule(s spec) *rule {
	var role *rule
	for i := range s {
		r := &s[i]
		listed := !slices.ContainsFunc(r.values, func(v value) bool {
			_, exact := v.glob.Exact()
			return v.negate || !exact
		})
		switch {
		case !listed || len(r.values) == 0:
		case r.isRole():
			role = r
		default:
			return r
		}
	}
	return role
}

func (r *rule) isRole() bool { return strings.HasSuffix(r.label, ".resource.role") }

// taking collects the values whose filters take an event.
type taking[T comparable] struct {
	effort
	event *orchv1.ReceivedEvent
	found []T
	seen  map[T]bool
}

func (t *taking[T]) labels(l *labels[T]) {
	for label, values := range l.own {
		if have, ok := t.event.GetResource().GetLabels()[label]; ok {
			t.items(values[have])
		}
	}
	for label, values := range l.related {
		for _, r := range t.event.GetRelated() {
			if have, ok := r.GetLabels()[label]; ok {
				t.items(values[have])
			}
		}
	}
	t.items(l.rest)
}

func (t *taking[T]) items(items []item[T]) {
	for _, it := range items {
		if starts, expected := it.filter.matches(t.event, &t.effort); (starts || expected) && !t.seen[it.value] {
			if t.seen == nil { // Most events fit nothing.
				t.seen = map[T]bool{}
			}
			t.seen[it.value] = true
			t.found = append(t.found, it.value)
		}
	}
}
