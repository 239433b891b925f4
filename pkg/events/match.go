package events

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Matcher is a compiled EventFilter for live events; it is safe for concurrent use. It has the semantics of the store's
// filters with two exceptions. A missing time bound is unbounded; order and resource.distinct, which concern lists, are
// ignored.
type Matcher struct{ criteria []criterion }

// criterion reports whether an event matches one part of a filter.
type criterion func(*orchv1.ReceivedEvent) bool

// NewMatcher compiles a filter; nil is the filter without criteria.
func NewMatcher(vocab vocabulary.Vocabulary, f *orchv1.EventFilter) *Matcher {
	m := &Matcher{}
	c := compiler{id: vocab.ResourceID(), role: vocab.ResourceRole()}
	m.criteria = slices.DeleteFunc([]criterion{
		occurred(f.GetOccurred()), named(f.GetEvent()), ids(f.GetId()),
		c.resource(f.GetResource()), c.related(f.GetRelated()), c.anyResource(f.GetAnyResource()), text(f.GetText()),
	}, func(c criterion) bool { return c == nil })
	return m
}

// Match reports whether the event matches all criteria.
func (m *Matcher) Match(e *orchv1.ReceivedEvent) bool {
	for _, meets := range m.criteria {
		if !meets(e) {
			return false
		}
	}
	return true
}

func occurred(f *orchv1.EventOccurredFilter) criterion {
	if f.GetSince() == nil && f.GetUntil() == nil {
		return nil
	}
	micros := func(t *timestamppb.Timestamp, absent int64) int64 {
		if t == nil {
			return absent
		}
		return t.AsTime().UnixMicro()
	}
	since, until := micros(f.GetSince(), math.MinInt64), micros(f.GetUntil(), math.MaxInt64)
	return func(e *orchv1.ReceivedEvent) bool {
		at := e.GetOccurred().AsTime().UnixMicro()
		return since <= at && at <= until
	}
}

func named(f *orchv1.EventNameFilter) criterion {
	names, excluded := f.GetName().GetValues(), f.GetExcludeName().GetValues()
	prefixes, excludedPrefixes := f.GetPrefix().GetValues(), f.GetExcludePrefix().GetValues()
	if len(names)+len(excluded)+len(prefixes)+len(excludedPrefixes) == 0 {
		return nil
	}
	return func(e *orchv1.ReceivedEvent) bool {
		name := e.GetEvent()
		return oneOf(names, name) && !slices.Contains(excluded, name) &&
			begins(prefixes, name) && !hasPrefix(name, excludedPrefixes)
	}
}

func ids(f *orchv1.EventIdFilter) criterion {
	values := f.GetId().GetValues()
	if len(values) == 0 {
		return nil
	}
	return func(e *orchv1.ReceivedEvent) bool { return slices.Contains(values, e.GetId()) }
}

// text searches for the terms as the store does: by regular expressions that ignore case.
func text(f *orchv1.EventTextFilter) criterion {
	q := ParseText(f.GetQuery()).Compile()
	if q.Empty() {
		return nil
	}
	return func(e *orchv1.ReceivedEvent) bool {
		return q.Match(func(term *regexp.Regexp) bool { return occursIn(term, e) })
	}
}

func occursIn(p *regexp.Regexp, e *orchv1.ReceivedEvent) bool {
	inLabels := func(labels map[string]string) bool {
		for _, value := range labels {
			if p.MatchString(value) {
				return true
			}
		}
		return false
	}
	return p.MatchString(e.GetEvent()) || p.Match(e.GetPayload()) || inLabels(e.GetResource().GetLabels()) ||
		slices.ContainsFunc(e.GetRelated(), func(r *orchv1.RelatedResource) bool { return inLabels(r.GetLabels()) })
}

// oneOf reports whether the list is empty or contains the value.
func oneOf(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }

// begins reports whether there are no prefixes or the value has one of them.
func begins(prefixes []string, value string) bool {
	return len(prefixes) == 0 || hasPrefix(value, prefixes)
}

func hasPrefix(value string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(value, p) })
}
