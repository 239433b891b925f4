package events

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// maxNames is how many names of events a prefix is written out to; more are looked for as a range.
const maxNames = 64

// named writes prefixes of event names out to the names that there are. There are few, and lists of whole values are
// what an index answers in order and counts without looking; a range of names is neither.
func (s *Service) named(ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter) (*orchv1.EventFilter, error) {
	prefixes := filter.GetEvent().GetPrefix()
	if len(prefixes.GetValues()) == 0 || len(filter.GetEvent().GetName().GetValues()) > 0 {
		return filter, nil
	}
	compiled, err := query.CompileEvents(&orchv1.EventFilter{Event: &orchv1.EventNameFilter{Prefix: prefixes}},
		query.EventOptions{Vocabulary: s.words, AnyTime: true})
	if err != nil {
		return nil, err
	}
	names, err := s.events.Distinct(ctx, ws, "event", compiled)
	if err != nil || len(names) == 0 || len(names) > maxNames {
		return filter, err
	}
	filter = proto.Clone(filter).(*orchv1.EventFilter)
	filter.Event.Prefix, filter.Event.Name = nil, &orchv1.StringList{Values: names}
	return filter, nil
}

// total counts the events that match. Nearly always the window is so wide that no event lies outside of it; then it is
// left out, and many filters are counted by an index alone.
func (s *Service) total(ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter, compiled bson.D) (int64, error) {
	inside, err := s.allWithin(ctx, ws, filter.GetOccurred())
	if err != nil {
		return 0, err
	}
	if inside {
		if id := onlyRelated(filter); id != "" {
			return s.countRelated(ctx, ws, id)
		}
		compiled, err = query.CompileEvents(filter, query.EventOptions{Vocabulary: s.words, AnyTime: true})
		if err != nil {
			return 0, err
		}
	}
	return s.events.Count(ctx, ws, compiled)
}

// onlyRelated is the id that a filter wants a related resource to have, if that is all it wants; else it is empty.
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

// countRelated counts the events with a related resource of that id: all that the resource is in, which an index
// counts, without those that happened to it, of which there are few, where it is not related besides.
func (s *Service) countRelated(ctx context.Context, ws uuid.UUID, id string) (int64, error) {
	all, err := s.events.Count(ctx, ws, bson.D{{Key: "resource_ids", Value: id}})
	if err != nil {
		return 0, err
	}
	own, err := s.events.Count(ctx, ws, bson.D{
		{Key: "resource_id", Value: id},
		{Key: "related.labels", Value: bson.D{{Key: "$not", Value: bson.D{{Key: "$elemMatch", Value: bson.D{
			{Key: "k", Value: s.words.ResourceID()}, {Key: "v", Value: id},
		}}}}}},
	})
	return all - own, err
}

// allWithin tells whether all events of a workspace occurred within a window.
func (s *Service) allWithin(ctx context.Context, ws uuid.UUID, window *orchv1.EventOccurredFilter) (bool, error) {
	for _, outside := range []bson.D{
		{{Key: "occurred", Value: bson.D{{Key: "$lt", Value: window.GetSince().AsTime().UnixMicro()}}}},
		{{Key: "occurred", Value: bson.D{{Key: "$gt", Value: window.GetUntil().AsTime().UnixMicro()}}}},
	} {
		found, err := s.events.Find(ctx, ws, outside, query.EventSort(orchv1.EventOrder_EVENT_ORDER_ASC), 0, 1)
		if err != nil || len(found) > 0 {
			return false, err
		}
	}
	return true, nil
}
