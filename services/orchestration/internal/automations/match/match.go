// Package match decides which events an event trigger takes, and finds the triggers that take an event.
//
//	event ──► Index: name, then one label of the resource ──► candidates ──► Filter: names, match, match_related
//
// A [Filter] is one trigger's decision. An [Index] narrows many filters down to the few that an event can fit.
package match

import (
	"slices"
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Filter decides which events a trigger takes. It is immutable.
type Filter struct {
	names   names
	match   spec
	related []spec
}

// NewFilter compiles the filter of an event trigger.
func NewFilter(t *orchv1.EventTrigger) *Filter {
	return newFilter(t.GetExpect(), t.GetAfter(), t.GetMatch(), t.GetMatchRelated())
}

// NewResourceFilter compiles a filter that takes events of every name.
func NewResourceFilter(match *orchv1.ResourceSpecification, related *orchv1.RelatedMatch) *Filter {
	return newFilter(nil, nil, match, related)
}

// NewNameFilter compiles a filter by names, in which "*" alone is special.
func NewNameFilter(expect []string) *Filter {
	f := &Filter{names: names{expect: expect}}
	for _, pattern := range expect {
		f.names.globs = append(f.names.globs, CompileStars(pattern))
	}
	return f
}

func newFilter(expect, after []string, match *orchv1.ResourceSpecification, related *orchv1.RelatedMatch) *Filter {
	f := &Filter{names: compileNames(expect, after), match: compileSpec(match)}
	if one := related.GetOne(); one != nil {
		f.related = append(f.related, compileSpec(one))
	}
	for _, one := range related.GetAll().GetValues() {
		f.related = append(f.related, compileSpec(one))
	}
	return f
}

// Matches reports whether the trigger takes an event, and whether the event is one that must come first (starts), one that
// counts (expected), or both.
func (f *Filter) Matches(e *orchv1.ReceivedEvent) (starts, expected bool) {
	return f.matches(e, &effort{})
}

// matches is Matches with its effort.
func (f *Filter) matches(e *orchv1.ReceivedEvent, spent *effort) (starts, expected bool) {
	name := e.GetEvent()
	if !f.names.covers(name, spent) || IsLogWrite(name) {
		return false, false
	}
	starts, expected = f.names.starts(name, spent), f.names.expects(name, spent)
	if !starts && !expected || !f.takesResource(e, spent) {
		return false, false
	}
	return starts, expected
}

// TakesResource is Takes for the event's resources alone.
func (f *Filter) TakesResource(e *orchv1.ReceivedEvent) bool { return f.takesResource(e, &effort{}) }

func (f *Filter) takesResource(e *orchv1.ReceivedEvent, spent *effort) bool {
	if !f.match.fits(e.GetResource().GetLabels(), spent) {
		return false
	}
	for i := range f.related {
		if !f.related[i].fitsAny(e.GetRelated(), spent) {
			return false
		}
	}
	return true
}

// IsLogWrite reports whether a name is that of events that no trigger is given: a log line that an automation causes
// would cause another.
func IsLogWrite(name string) bool { return name == "orch.log.write" || name == "prefect.log.write" }

// spec is what labels must be.
type spec []rule

type rule struct {
	label  string
	values []value
}

type value struct {
	glob   Glob
	negate bool
}

func compileSpec(s *orchv1.ResourceSpecification) spec {
	compiled := make(spec, 0, len(s.GetLabels()))
	for label, wanted := range s.GetLabels() {
		texts := wanted.GetList().GetValues()
		if one, ok := wanted.GetKind().(*orchv1.StringOrList_StringValue); ok {
			texts = []string{one.StringValue}
		}
		r := rule{label: label}
		for _, text := range texts {
			pattern, negate := strings.CutPrefix(text, "!")
			r.values = append(r.values, value{CompileGlob(pattern), negate})
		}
		compiled = append(compiled, r)
	}
	slices.SortFunc(compiled, func(a, b rule) int { return strings.Compare(a.label, b.label) })
	return compiled
}

// fits reports whether every label is present and has one of its values.
func (s spec) fits(labels map[string]string, e *effort) bool {
	for i := range s {
		have, present := labels[s[i].label]
		if !present || !s[i].fits(have, e) {
			return false
		}
	}
	return true
}

func (r *rule) fits(have string, e *effort) bool {
	for i := range r.values {
		if v := &r.values[i]; v.glob.fits(have, e) != v.negate {
			return true
		}
	}
	return false
}

func (s spec) fitsAny(related []*orchv1.RelatedResource, e *effort) bool {
	if len(s) == 0 {
		return true
	}
	for _, r := range related {
		if e.spend(1) && s.fits(r.GetLabels(), e) {
			return true
		}
	}
	return false
}
