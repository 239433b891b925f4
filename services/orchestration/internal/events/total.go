package events

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxNames is the number of event names that a filter is expanded to; beyond it the filter uses ranges.
const maxNames = 64

// named replaces prefixes and exclusions of event names by the matching names. There are few, and an index evaluates a
// list of values in order and without reading events; it does neither for ranges and negations. none reports that no
// event has a matching name.
func (s *Service) named(ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter) (written *orchv1.EventFilter, none bool, err error) {
	criteria := filter.GetEvent()
	if len(criteria.GetPrefix().GetValues())+len(criteria.GetExcludeName().GetValues())+len(criteria.GetExcludePrefix().GetValues()) == 0 {
		return filter, false, nil
	}
	names, err := s.names(ctx, ws, criteria)
	if err != nil || len(names) > maxNames {
		return filter, false, err
	}
	written = proto.CloneOf(filter)
	written.Event = &orchv1.EventNameFilter{Name: &orchv1.StringList{Values: names}}
	return written, len(names) == 0, nil
}

// names returns the names that a filter admits, from its own list or else from the names in the workspace.
func (s *Service) names(ctx context.Context, ws uuid.UUID, criteria *orchv1.EventNameFilter) ([]string, error) {
	names := criteria.GetName().GetValues()
	if len(names) == 0 {
		compiled, err := query.CompileEvents(&orchv1.EventFilter{Event: &orchv1.EventNameFilter{Prefix: criteria.GetPrefix()}},
			query.EventOptions{Vocabulary: s.vocab, AnyTime: true})
		if err != nil {
			return nil, err
		}
		if names, err = s.events.Distinct(ctx, ws, "event", compiled); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !admits(criteria, name) }), nil
}

// admits reports whether a name has one of the filter's prefixes and is not excluded.
func admits(f *orchv1.EventNameFilter, name string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	prefixes := f.GetPrefix().GetValues()
	return (len(prefixes) == 0 || slices.ContainsFunc(prefixes, begins)) &&
		!slices.Contains(f.GetExcludeName().GetValues(), name) && !slices.ContainsFunc(f.GetExcludePrefix().GetValues(), begins)
}

// totalBounds are the numbers at which totals stop.
type totalBounds struct {
	indexed int64 // Of events that index keys count.
	tested  int64 // Of events that are read.
	read    int64 // Of events that a page or a total tests, if the keys of an index do not decide the filter.
}

// count is a number of events; capped means that it is that many or more.
type count struct {
	n      int64
	capped bool
}

// upTo is a count that stops behind a limit.
func upTo(limit int64, do func(limit int64) (int64, error)) (count, error) {
	n, err := do(limit + 1)
	return count{min(n, limit), n > limit}, err
}

// total counts the matching events, or their resources, up to a limit; 0 means the default of the filter. Events that keys do not decide
// are counted up to the edge of the page. Usually no event lies outside of the time window. Then it omits the window, and an index alone
// counts many filters.
func (s *Service) total(
	ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter, compiled bson.D, edge *int64, limit int64,
) (count, error) {
	matches := func(limit int64) (int64, error) {
		return s.events.Count(ctx, ws, store.Query{Filter: compiled, Limit: limit})
	}
	switch {
	case filter.GetResource().GetDistinct():
		return upTo(cmp.Or(limit, s.totals.tested), func(limit int64) (int64, error) { return s.countResources(ctx, ws, compiled, limit) })
	case edge != nil:
		compiled = query.EventsUntil(compiled, filter.GetOrder(), *edge)
		newest, err := upTo(cmp.Or(limit, s.totals.tested), matches)
		newest.capped = true
		return newest, err
	}
	inside, err := s.allWithin(ctx, ws, filter.GetOccurred())
	if err != nil {
		return count{}, err
	}
	if compiled, err = query.CompileEvents(filter, query.EventOptions{
		Now: s.events.Store().Now(), Vocabulary: s.vocab, Workspace: ws, AnyTime: inside,
	}); err != nil {
		return count{}, err
	}
	if id := onlyRelated(filter); id != "" && inside {
		return upTo(cmp.Or(limit, s.totals.indexed), func(limit int64) (int64, error) { return s.countRelated(ctx, ws, id, limit) })
	}
	if proto.Equal(indexed(filter), filter) {
		return upTo(cmp.Or(limit, s.totals.indexed), matches)
	}
	return upTo(cmp.Or(limit, s.totals.tested), matches)
}

// indexed is the part of a filter that the keys of one index decide: the window, with the ids or names that select the fewest events.
func indexed(filter *orchv1.EventFilter) *orchv1.EventFilter {
	keys := &orchv1.EventFilter{Occurred: filter.GetOccurred(), Order: filter.GetOrder()}
	resource, anyOf, related := filter.GetResource(), filter.GetAnyResource().GetObject(), filter.GetRelated().GetObject()
	switch {
	case filter.GetId() != nil:
		keys.Id = filter.GetId()
	case resource.GetId() != nil:
		keys.Resource = &orchv1.EventResourceFilter{Id: resource.GetId()}
	case anyOf.GetId() != nil:
		keys.AnyResource = anyResource(anyOf.GetId())
	case related.GetId() != nil:
		keys.AnyResource = anyResource(related.GetId())
	case resource.GetIdPrefix() != nil:
		keys.Resource = &orchv1.EventResourceFilter{IdPrefix: resource.GetIdPrefix()}
	default:
		keys.Event = filter.GetEvent()
	}
	return keys
}

func anyResource(ids *orchv1.StringList) *orchv1.EventAnyResourceFilters {
	return &orchv1.EventAnyResourceFilters{Kind: &orchv1.EventAnyResourceFilters_Object{Object: &orchv1.EventAnyResourceFilter{Id: ids}}}
}

// countResources counts the resources of the matching events, up to a limit.
func (s *Service) countResources(ctx context.Context, ws uuid.UUID, compiled bson.D, limit int64) (int64, error) {
	return s.countRows(ctx, ws, compiled,
		bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$resource_id"}}}},
		bson.D{{Key: "$limit", Value: limit}},
	)
}

// countRows counts the rows of a pipeline.
func (s *Service) countRows(ctx context.Context, ws uuid.UUID, filter bson.D, stages ...bson.D) (int64, error) {
	var rows []struct {
		N int64 `bson:"n"`
	}
	err := s.events.Aggregate(ctx, ws, filter, append(stages, bson.D{{Key: "$count", Value: "n"}}), &rows)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return rows[0].N, nil
}

// onlyRelated returns the id of a related resource if that is the filter's only criterion, else "".
func onlyRelated(filter *orchv1.EventFilter) string {
	ids := filter.GetRelated().GetObject().GetId().GetValues()
	if len(ids) != 1 || !proto.Equal(filter, &orchv1.EventFilter{
		Occurred: filter.GetOccurred(), Order: filter.GetOrder(),
		Related: &orchv1.EventRelatedFilters{Kind: &orchv1.EventRelatedFilters_Object{
			Object: &orchv1.EventRelatedFilter{Id: &orchv1.StringList{Values: ids}},
		}},
	}) {
		return ""
	}
	return ids[0]
}

// countRelated counts the events with a related resource of that id. An index counts all events with the resource. It
// subtracts the few events whose primary resource it is, unless it is also a related resource of them.
func (s *Service) countRelated(ctx context.Context, ws uuid.UUID, id string, limit int64) (int64, error) {
	own, err := s.events.Count(ctx, ws, store.Query{Filter: bson.D{
		{Key: "resource_id", Value: id},
		{Key: "related.labels", Value: bson.D{{Key: "$not", Value: bson.D{{Key: "$elemMatch", Value: bson.D{
			{Key: "k", Value: s.vocab.ResourceID()}, {Key: "v", Value: id},
		}}}}}},
	}})
	if err != nil {
		return 0, err
	}
	if limit > 0 {
		limit += own
	}
	all, err := s.events.Count(ctx, ws, store.Query{Filter: bson.D{{Key: "resource_ids", Value: id}}, Limit: limit})
	return max(0, all-own), err
}

// allWithin reports whether all events of a workspace occurred within a window.
func (s *Service) allWithin(ctx context.Context, ws uuid.UUID, window *orchv1.EventOccurredFilter) (bool, error) {
	for _, outside := range []bson.D{
		{{Key: "occurred", Value: bson.D{{Key: "$lt", Value: window.GetSince().AsTime().UnixMicro()}}}},
		{{Key: "occurred", Value: bson.D{{Key: "$gt", Value: window.GetUntil().AsTime().UnixMicro()}}}},
	} {
		found, err := s.events.Find(ctx, ws, store.Query{Filter: outside, Sort: query.EventSort(orchv1.EventOrder_EVENT_ORDER_ASC), Limit: 1})
		if err != nil || len(found) > 0 {
			return false, err
		}
	}
	return true, nil
}
