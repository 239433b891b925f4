package query

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/protobson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TestEventFiltersMeanWhatTheySay compares three evaluations of random filters: the store, a naive reading, and the
// matcher of live events.
func TestEventFiltersMeanWhatTheySay(t *testing.T) {
	t.Parallel()
	db := database(t)
	makeIndexes(t, db, false) // With indexes the planner of the store chooses other plans than a scan.
	ctx := t.Context()
	stored := db.Collection(string(Event))
	rapid.Check(t, func(t *rapid.T) {
		_, err := stored.DeleteMany(ctx, bson.D{})
		require.NoError(t, err)
		ws := uuid.New()
		var all []*orchv1.ReceivedEvent
		for _, id := range someIDs {
			e := generateEvent(t, id)
			elements, err := protobson.MarshalDocument(e)
			require.NoError(t, err)
			var doc bson.D
			require.NoError(t, bson.Unmarshal(elements, &doc))
			_, err = stored.InsertOne(ctx, append(envelope(ws, false), doc...))
			require.NoError(t, err)
			all = append(all, e)
		}
		for range 20 {
			f := generateEventFilter(t)
			filter, err := CompileEvents(f, epoch)
			require.NoError(t, err)
			bounded := proto.Clone(f).(*orchv1.EventFilter)
			if bounded.Occurred == nil {
				bounded.Occurred = &orchv1.EventOccurredFilter{}
			}
			if bounded.Occurred.Until == nil {
				bounded.Occurred.Until = timestamppb.New(epoch.Now)
			}
			passing := events.NewMatcher(epoch.Vocabulary, bounded)
			want := []string{}
			for _, e := range all {
				in := included(f, e)
				require.Equal(t, in, passing.Match(e), "%v\n%v", f, e)
				if in {
					want = append(want, e.Id)
				}
			}
			var found []bson.Raw
			err = each(NewReader(db).Stream(ctx, Event, Scope(ws, filter), StreamOptions{}), func(doc bson.Raw) error {
				found = append(found, slices.Clone(doc))
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, want, idsOf(found), "%v\n%v", f, filter)
		}
	})
}

var (
	knownNames  = []string{"orch.resource.role", "$ne", "a.b", "v"}
	knownValues = []string{"a", "ab", "a*", "$where", "é", "K", "\u212a"}
	knownEvents = []string{"a", "a.b", "A.b", "a*", "^a"}
)

func pick(t *rapid.T, label string, from []string, most int) []string {
	return rapid.SliceOfN(rapid.SampledFrom(from), 0, most).Draw(t, label)
}

func generateLabels(t *rapid.T) map[string]string {
	labels := map[string]string{"orch.resource.id": rapid.SampledFrom(knownValues).Draw(t, "resource id")}
	for _, name := range pick(t, "labels", knownNames, 2) {
		labels[name] = rapid.SampledFrom(knownValues).Draw(t, name)
	}
	return labels
}

func generateEvent(t *rapid.T, id string) *orchv1.ReceivedEvent {
	e := &orchv1.ReceivedEvent{
		Id: id, Event: rapid.SampledFrom(knownEvents).Draw(t, "event"),
		Occurred: &timestamppb.Timestamp{Seconds: rapid.Int64Range(-2, 0).Draw(t, "occurred")},
		Resource: &orchv1.Resource{Labels: generateLabels(t)},
		Payload:  []byte(rapid.SampledFrom([]string{`{}`, `{"Ab":"$where"}`}).Draw(t, "payload")),
	}
	e.ResourceId = e.Resource.Labels["orch.resource.id"]
	e.ResourceIds = []string{e.ResourceId}
	for range rapid.IntRange(0, 2).Draw(t, "related") {
		r := &orchv1.RelatedResource{Labels: generateLabels(t)}
		e.Related = append(e.Related, r)
		e.ResourceIds = append(e.ResourceIds, r.Labels["orch.resource.id"])
	}
	return e
}

func generateEventFilter(t *rapid.T) *orchv1.EventFilter {
	f := &orchv1.EventFilter{}
	maybe := func(label string) bool { return rapid.IntRange(0, 3).Draw(t, label) == 0 }
	list := func(label string, from []string) *orchv1.StringList {
		if !maybe(label) {
			return nil
		}
		return &orchv1.StringList{Values: pick(t, label, from, 2)}
	}
	spec := func() *orchv1.ResourceSpecification {
		if !maybe("spec") {
			return nil
		}
		s := &orchv1.ResourceSpecification{Labels: map[string]*orchv1.StringOrList{}}
		for _, name := range pick(t, "spec", append([]string{"orch.resource.id"}, knownNames...), 2) {
			values := pick(t, name, []string{"a", "a*", "!a", "!ab*", "$where", "*", "!", "*b", "?", "!a?", "*w*e*", "[a]*"}, 2)
			s.Labels[name] = &orchv1.StringOrList{Kind: &orchv1.StringOrList_List{List: &orchv1.StringList{Values: values}}}
			if len(values) == 1 {
				s.Labels[name] = &orchv1.StringOrList{Kind: &orchv1.StringOrList_StringValue{StringValue: values[0]}}
			}
		}
		return s
	}
	related := func() *orchv1.EventRelatedFilter {
		r := &orchv1.EventRelatedFilter{Id: list("id", knownValues), Role: list("role", knownValues), Labels: spec()}
		if maybe("in roles") {
			r.ResourcesInRoles = &orchv1.ResourceInRoleList{Values: []*orchv1.ResourceInRole{{
				Id:   rapid.SampledFrom(knownValues).Draw(t, "id in role"),
				Role: rapid.SampledFrom(knownValues).Draw(t, "role of id"),
			}}}
		}
		return r
	}
	anyOf := func() *orchv1.EventAnyResourceFilter {
		return &orchv1.EventAnyResourceFilter{Id: list("id", knownValues), IdPrefix: list("prefix", knownValues), Labels: spec()}
	}
	if maybe("since") {
		f.Occurred = &orchv1.EventOccurredFilter{Since: &timestamppb.Timestamp{Seconds: -1}}
	}
	if maybe("until") {
		f.Occurred = &orchv1.EventOccurredFilter{Until: &timestamppb.Timestamp{Seconds: -1}}
	}
	if maybe("event") {
		f.Event = &orchv1.EventNameFilter{
			Prefix: list("prefix", knownEvents), ExcludePrefix: list("exclude_prefix", knownEvents),
			Name: list("name", knownEvents), ExcludeName: list("exclude_name", knownEvents),
		}
	}
	if maybe("resource") {
		f.Resource = &orchv1.EventResourceFilter{Id: list("id", knownValues), IdPrefix: list("prefix", knownValues), Labels: spec()}
	}
	switch {
	case maybe("related"):
		f.Related = &orchv1.EventRelatedFilters{Kind: &orchv1.EventRelatedFilters_Object{Object: related()}}
	case maybe("several related"):
		l := &orchv1.EventRelatedFilterList{Values: []*orchv1.EventRelatedFilter{related(), related()}}
		f.Related = &orchv1.EventRelatedFilters{Kind: &orchv1.EventRelatedFilters_List{List: l}}
	}
	switch {
	case maybe("any"):
		f.AnyResource = &orchv1.EventAnyResourceFilters{Kind: &orchv1.EventAnyResourceFilters_Object{Object: anyOf()}}
	case maybe("several any"):
		l := &orchv1.EventAnyResourceFilterList{Values: []*orchv1.EventAnyResourceFilter{anyOf(), anyOf()}}
		f.AnyResource = &orchv1.EventAnyResourceFilters{Kind: &orchv1.EventAnyResourceFilters_List{List: l}}
	}
	if maybe("ids") {
		f.Id = &orchv1.EventIdFilter{Id: &orchv1.UuidList{Values: pick(t, "ids", someIDs, 3)}}
	}
	if maybe("text") {
		f.Text = &orchv1.EventTextFilter{Query: strings.Join(pick(t, "text",
			[]string{"a", "AB", "-where", "+$WHERE", `"a.b"`, "É", "!*", `-"\"ab\""`}, 3), " ")}
	}
	return f
}

// included evaluates a filter naively.
func included(f *orchv1.EventFilter, e *orchv1.ReceivedEvent) bool {
	at := e.Occurred.AsTime()
	since, until := epoch.Now.Add(-EventWindow), epoch.Now
	if s := f.GetOccurred().GetSince(); s != nil {
		since = s.AsTime()
	}
	if u := f.GetOccurred().GetUntil(); u != nil {
		until = u.AsTime()
	}
	hasPrefix := func(s string) func(string) bool { return func(p string) bool { return strings.HasPrefix(s, p) } }
	oneOf := func(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }
	begins := func(list []string, s string) bool { return len(list) == 0 || slices.ContainsFunc(list, hasPrefix(s)) }
	named := f.GetEvent()
	ok := !at.Before(since) && !at.After(until) &&
		oneOf(named.GetName().GetValues(), e.Event) && !slices.Contains(named.GetExcludeName().GetValues(), e.Event) &&
		begins(named.GetPrefix().GetValues(), e.Event) &&
		!slices.ContainsFunc(named.GetExcludePrefix().GetValues(), hasPrefix(e.Event)) &&
		oneOf(f.GetId().GetId().GetValues(), e.Id)

	own := e.Resource.Labels
	meets := func(labels map[string]string, ids, prefixes []string, spec *orchv1.ResourceSpecification) bool {
		return oneOf(ids, labels["orch.resource.id"]) && begins(prefixes, labels["orch.resource.id"]) && meetsSpec(spec, labels)
	}
	r := f.GetResource()
	ok = ok && meets(own, r.GetId().GetValues(), r.GetIdPrefix().GetValues(), r.GetLabels())

	relatedFilters := f.GetRelated().GetList().GetValues()
	if o := f.GetRelated().GetObject(); o != nil {
		relatedFilters = []*orchv1.EventRelatedFilter{o}
	}
	for _, rf := range relatedFilters {
		if len(rf.GetId().GetValues())+len(rf.GetRole().GetValues())+len(rf.GetResourcesInRoles().GetValues())+len(rf.GetLabels().GetLabels()) == 0 {
			continue
		}
		ok = ok && slices.ContainsFunc(e.Related, func(r *orchv1.RelatedResource) bool {
			role, has := r.Labels["orch.resource.role"]
			inRole := len(rf.GetResourcesInRoles().GetValues()) == 0
			for _, p := range rf.GetResourcesInRoles().GetValues() {
				inRole = inRole || r.Labels["orch.resource.id"] == p.Id && role == p.Role
			}
			return meets(r.Labels, rf.GetId().GetValues(), nil, rf.GetLabels()) && inRole &&
				(len(rf.GetRole().GetValues()) == 0 || has && slices.Contains(rf.GetRole().GetValues(), role))
		})
	}
	anyFilters := f.GetAnyResource().GetList().GetValues()
	if o := f.GetAnyResource().GetObject(); o != nil {
		anyFilters = []*orchv1.EventAnyResourceFilter{o}
	}
	for _, af := range anyFilters {
		m := func(labels map[string]string) bool {
			return meets(labels, af.GetId().GetValues(), af.GetIdPrefix().GetValues(), af.GetLabels())
		}
		ok = ok && (m(own) || slices.ContainsFunc(e.Related, func(r *orchv1.RelatedResource) bool { return m(r.Labels) }))
	}
	return ok && textIncluded(f.GetText().GetQuery(), e)
}

func meetsSpec(spec *orchv1.ResourceSpecification, labels map[string]string) bool {
	for name, want := range spec.GetLabels() {
		values := want.GetList().GetValues()
		if s, ok := want.GetKind().(*orchv1.StringOrList_StringValue); ok {
			values = []string{s.StringValue}
		}
		have, present := labels[name]
		if !present || len(values) == 0 {
			return false
		}
		if !slices.ContainsFunc(values, func(v string) bool {
			v, negated := strings.CutPrefix(v, "!")
			return globbed([]rune(v), []rune(have)) != negated
		}) {
			return false
		}
	}
	return true
}

// globbed reports whether a glob matches a text.
func globbed(glob, text []rune) bool {
	switch {
	case len(glob) == 0:
		return len(text) == 0
	case glob[0] == '*':
		return globbed(glob[1:], text) || len(text) > 0 && globbed(glob, text[1:])
	}
	return len(text) > 0 && (glob[0] == '?' || glob[0] == text[0]) && globbed(glob[1:], text[1:])
}

func textIncluded(query string, e *orchv1.ReceivedEvent) bool {
	texts := []string{e.Event, string(e.Payload)}
	for _, v := range e.Resource.Labels {
		texts = append(texts, v)
	}
	for _, r := range e.Related {
		for _, v := range r.Labels {
			texts = append(texts, v)
		}
	}
	occurs := func(term string) bool {
		return slices.ContainsFunc(texts, func(s string) bool {
			return strings.Contains(strings.ToLower(s), strings.ToLower(term))
		})
	}
	q := events.ParseText(query)
	return (len(q.AnyOf) == 0 || slices.ContainsFunc(q.AnyOf, occurs)) && !slices.ContainsFunc(q.NoneOf, occurs) &&
		!slices.ContainsFunc(q.AllOf, func(s string) bool { return !occurs(s) })
}
