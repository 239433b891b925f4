package events

import (
	"context"
	"net/http"
	"net/url"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// maxPage is the maximum page size of events.
const maxPage = 50

func (s *Service) compile(ws uuid.UUID, filter *orchv1.EventFilter) (bson.D, error) {
	return query.CompileEvents(filter, query.EventOptions{Now: s.events.Store().Now(), Vocabulary: s.vocab, Workspace: ws})
}

// place is the owner of the events: a workspace, or an account for its own events.
type place struct {
	id uuid.UUID
	// pages is the URL of further pages, up to the token.
	pages string
}

// ReadEvents returns the first page of the matching events.
func (s *Service) ReadEvents(ctx context.Context, r *orchv1.ReadEventsRequest) (*orchv1.EventPage, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	return s.firstPage(ctx, ofWorkspace(info), r.GetQuery())
}

// ReadEventsPage returns the page of a token.
func (s *Service) ReadEventsPage(ctx context.Context, r *orchv1.ReadEventsPageRequest) (*orchv1.EventPage, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	return s.nextPage(ctx, ofWorkspace(info), r.GetPageToken())
}

func ofWorkspace(info request.Info) place {
	return place{info.Workspace, info.PublicURL + "/events/filter/next?page-token="}
}

func (s *Service) firstPage(ctx context.Context, in place, q *orchv1.EventQuery) (*orchv1.EventPage, error) {
	filter := s.complete(q.GetFilter())
	named, none, err := s.named(ctx, in.id, filter)
	if err != nil {
		return nil, err
	}
	if none {
		return &orchv1.EventPage{}, nil
	}
	compiled, err := s.compile(in.id, named)
	if err != nil {
		return nil, err
	}
	limit := q.GetLimit()
	p := position{filter: filter, limit: limit}
	if filter.GetResource().GetDistinct() {
		p.total, err = s.countResources(ctx, in.id, compiled, q.GetTotalLimit())
	} else {
		p.total, err = s.total(ctx, in.id, named, compiled, q.GetTotalLimit())
	}
	if err != nil {
		return nil, err
	}
	if limit == 0 {
		return &orchv1.EventPage{Total: p.total}, nil
	}
	return s.page(ctx, in, p, compiled)
}

func (s *Service) nextPage(ctx context.Context, in place, token string) (*orchv1.EventPage, error) {
	p, err := readToken(token)
	if err != nil {
		return nil, rpc.Detail(http.StatusForbidden, "Forbidden")
	}
	named, none, err := s.named(ctx, in.id, p.filter)
	if err != nil {
		return nil, err
	}
	if none {
		return &orchv1.EventPage{Total: p.total}, nil
	}
	compiled, err := s.compile(in.id, named)
	if err != nil {
		return nil, err
	}
	return s.page(ctx, in, p, compiled)
}

// complete sets the times that a filter leaves open, so that all pages have the same time window.
func (s *Service) complete(filter *orchv1.EventFilter) *orchv1.EventFilter {
	if filter == nil {
		filter = &orchv1.EventFilter{}
	}
	filter = proto.Clone(filter).(*orchv1.EventFilter)
	if filter.Occurred == nil {
		filter.Occurred = &orchv1.EventOccurredFilter{}
	}
	now := s.events.Store().Now()
	if filter.Occurred.Since == nil {
		filter.Occurred.Since = timestamppb.New(now.Add(-query.EventWindow))
	}
	if filter.Occurred.Until == nil {
		filter.Occurred.Until = timestamppb.New(now)
	}
	if filter.Order == orchv1.EventOrder_EVENT_ORDER_UNSPECIFIED {
		filter.Order = orchv1.EventOrder_EVENT_ORDER_DESC
	}
	return filter
}

// page reads one event more than it returns, to know whether another page follows.
func (s *Service) page(ctx context.Context, in place, p position, compiled bson.D) (*orchv1.EventPage, error) {
	found, err := s.read(ctx, in.id, p, compiled)
	if err != nil {
		return nil, err
	}
	page := &orchv1.EventPage{Events: found, Total: p.total}
	if int64(len(found)) <= p.limit {
		return page, nil
	}
	page.Events = found[:p.limit]
	last := page.Events[p.limit-1]
	if err := p.goOnAfter(last); err != nil {
		return nil, err
	}
	p.seen += p.limit
	token, err := p.token()
	if err != nil {
		return nil, err
	}
	page.NextPage = new(in.pages + url.QueryEscape(token))
	return page, nil
}

func (s *Service) read(ctx context.Context, ws uuid.UUID, p position, compiled bson.D) ([]*orchv1.ReceivedEvent, error) {
	sort, beyond := query.EventSort(p.filter.GetOrder()), "$lt"
	if p.filter.GetOrder() == orchv1.EventOrder_EVENT_ORDER_ASC {
		beyond = "$gt"
	}
	if p.filter.GetResource().GetDistinct() {
		return s.readDistinct(ctx, ws, p, compiled, sort)
	}
	if p.afterID != uuid.Nil {
		compiled = bson.D{{Key: "$and", Value: bson.A{compiled, bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "occurred", Value: bson.D{{Key: beyond, Value: p.afterOccurred}}}},
			bson.D{{Key: "occurred", Value: p.afterOccurred}, {Key: "_id", Value: bson.D{{Key: beyond, Value: p.afterKey(ws)}}}},
		}}}}}}
	}
	if len(p.filter.GetResource().GetIdPrefix().GetValues()) > 0 && p.total <= fewEvents {
		return s.events.FindBy(ctx, ws, query.EventsByResource, compiled, sort, p.limit+1)
	}
	return s.events.Find(ctx, ws, compiled, sort, 0, p.limit+1)
}

// fewEvents is the number of events up to which fetching and sorting them is cheaper than scanning by time.
const fewEvents = 5000

// readDistinct scans from the start and returns each resource once: the first event of a resource depends on all events
// before it.
func (s *Service) readDistinct(ctx context.Context, ws uuid.UUID, p position, compiled, sort bson.D) ([]*orchv1.ReceivedEvent, error) {
	seen := map[string]bool{}
	var found []*orchv1.ReceivedEvent
	err := s.events.Each(ctx, ws, compiled, sort, func(e *orchv1.ReceivedEvent) bool {
		if seen[e.GetResourceId()] {
			return true
		}
		seen[e.GetResourceId()] = true
		if int64(len(seen)) > p.seen {
			found = append(found, e)
		}
		return int64(len(found)) <= p.limit
	})
	return found, err
}

// countResources counts the resources of the matching events, up to a limit; 0 means none.
func (s *Service) countResources(ctx context.Context, ws uuid.UUID, compiled bson.D, limit int64) (int64, error) {
	var rows []struct {
		N int64 `bson:"n"`
	}
	stages := []bson.D{{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$resource_id"}}}}}
	if limit > 0 {
		stages = append(stages, bson.D{{Key: "$limit", Value: limit}})
	}
	err := s.events.Aggregate(ctx, ws, compiled, append(stages, bson.D{{Key: "$count", Value: "n"}}), &rows)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return rows[0].N, nil
}
