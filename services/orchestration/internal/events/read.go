package events

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// maxPage is the maximum page size of events.
	maxPage = 50
	// maxPageBytes bounds the events of a page as they are stored. A page that reaches it is shorter, and another one follows.
	maxPageBytes = 16 << 20
	// maxDigestBytes bounds the digests of the resources on the pages of distinct resources, and maxDistinct their number. No page follows
	// them.
	maxDigestBytes = 2 << 20
	maxDistinct    = maxDigestBytes / digestSize
	digestSize     = 16
)

func (s *Service) compile(ws uuid.UUID, filter *orchv1.EventFilter) (bson.D, error) {
	return query.CompileEvents(filter, query.EventOptions{Now: s.events.Store().Now(), Vocabulary: s.vocab, Workspace: ws})
}

// owner is the owner of the events: a workspace, or an account for its own events.
type owner struct {
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

func ofWorkspace(info request.Info) owner {
	return owner{info.Workspace, info.PublicURL + "/events/filter/next?page-token="}
}

// begin begins a read of several commands within the share of a workspace, or of an account.
func (s *Service) begin(ctx context.Context, ws uuid.UUID) (within context.Context, end func(), err error) {
	return s.events.Store().Resolver().BeginSeveral(ctx, ws)
}

func (s *Service) firstPage(ctx context.Context, in owner, q *orchv1.EventQuery) (*orchv1.EventPage, error) {
	ctx, end, err := s.begin(ctx, in.id)
	if err != nil {
		return nil, err
	}
	defer end()
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
	if err := s.searchable(ctx, in.id, named); err != nil {
		return nil, err
	}
	p := position{filter: filter, limit: q.GetLimit()}
	edge, err := s.edge(ctx, in.id, p, named)
	if err != nil {
		return nil, err
	}
	var found found
	if p.limit > 0 {
		if found, err = s.read(ctx, in.id, p, compiled, edge); err != nil {
			return nil, err
		}
	}
	total := count{n: int64(len(found.events)), capped: edge != nil}
	if p.limit == 0 || found.more || filter.GetResource().GetDistinct() { // Else the page has all matches.
		if total, err = s.total(ctx, in.id, named, compiled, edge, q.GetTotalLimit()); err != nil {
			return nil, err
		}
	}
	p.total = total.n
	page := &orchv1.EventPage{Total: p.total}
	if p.limit > 0 {
		if page, err = s.page(in, p, found); err != nil {
			return nil, err
		}
	}
	if total.capped {
		err = rpc.SetHeader(ctx, request.CountCappedHeader, strconv.FormatInt(page.GetTotal(), 10))
	}
	return page, err
}

// searchable returns query.ErrBroadSearch for a search for a text among more events than a total reads: no index has their texts.
func (s *Service) searchable(ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter) error {
	if filter.GetText().GetQuery() == "" {
		return nil
	}
	selected, err := s.compile(ws, indexed(filter))
	if err != nil {
		return err
	}
	n, err := s.events.Count(ctx, ws, store.Query{Filter: selected, Limit: s.totals.read + 1})
	if err == nil && n > s.totals.read {
		err = fmt.Errorf("more than %d events: %w", s.totals.read, query.ErrBroadSearch)
	}
	return err
}

func (s *Service) nextPage(ctx context.Context, in owner, token string) (*orchv1.EventPage, error) {
	p, err := readToken(token)
	if err != nil {
		return nil, rpc.Detail(http.StatusForbidden, "Forbidden")
	}
	ctx, end, err := s.begin(ctx, in.id)
	if err != nil {
		return nil, err
	}
	defer end()
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
	edge, err := s.edge(ctx, in.id, p, named)
	if err != nil {
		return nil, err
	}
	found, err := s.read(ctx, in.id, p, compiled, edge)
	if err != nil {
		return nil, err
	}
	return s.page(in, p, found)
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

// found is what the read of a page has found.
type found struct {
	events []*orchv1.ReceivedEvent
	// more says that the page is full, and others follow.
	more bool
	// edge is the time up to which the events were read; nil if all were.
	edge *int64
}

// page returns the page of the found events. It has the token of the next page if events may follow.
func (s *Service) page(in owner, p position, found found) (*orchv1.EventPage, error) {
	p.seen += int64(len(found.events))
	least := p.seen // Counting may have stopped before.
	if found.more {
		least++
	}
	p.total = max(p.total, least)
	page := &orchv1.EventPage{Events: found.events, Total: p.total}
	switch {
	case found.more && len(found.events) > 0: // Or they were deleted concurrently.
		if err := p.goOnAfter(found.events[len(found.events)-1]); err != nil {
			return nil, err
		}
	case found.edge != nil:
		p.goOnAtEdge(*found.edge)
	default:
		return page, nil
	}
	token, err := p.token()
	if err != nil {
		return nil, err
	}
	page.NextPage = new(in.pages + url.QueryEscape(token))
	return page, nil
}

// edge returns the time at which a page ends although the filter has further matches: a page tests at most totalBounds.read events. The edge is
// nil if no more events than that follow the position, or if the keys of an index decide the filter, so the page tests no other events.
func (s *Service) edge(ctx context.Context, ws uuid.UUID, p position, named *orchv1.EventFilter) (*int64, error) {
	keys := indexed(named)
	if proto.Equal(keys, named) || onlyRelated(named) != "" || named.GetResource().GetDistinct() {
		return nil, nil
	}
	compiled, err := s.compile(ws, keys)
	if err != nil {
		return nil, err
	}
	by := store.Query{
		Filter: p.restOf(ws, compiled), Fields: []string{"occurred"}, Sort: query.EventSort(p.filter.GetOrder()), Offset: s.totals.read - 1, Limit: 1,
	}
	if by.Index, err = s.hint(ctx, ws, compiled, by.Sort); err != nil {
		return nil, err
	}
	var edge *int64
	err = store.EachRaw(ctx, s.events, ws, by, func(raw bson.Raw) bool {
		edge = new(raw.Lookup("occurred").AsInt64())
		return true
	})
	return edge, err
}

// read reads the events of a page, up to an edge.
func (s *Service) read(ctx context.Context, ws uuid.UUID, p position, compiled bson.D, edge *int64) (found, error) {
	sort := query.EventSort(p.filter.GetOrder())
	if p.filter.GetResource().GetDistinct() {
		events, more, err := s.readDistinct(ctx, ws, p, compiled, sort)
		return found{events: events, more: more}, err
	}
	hint, err := s.hint(ctx, ws, compiled, sort)
	if err != nil {
		return found{}, err
	}
	rest := p.restOf(ws, compiled)
	if edge != nil {
		rest = query.EventsUntil(rest, p.filter.GetOrder(), *edge)
	}
	events, more, err := s.events.Page(ctx, ws, store.Query{Filter: rest, Sort: sort, Limit: p.limit, Bytes: maxPageBytes, Index: hint})
	return found{events, more, edge}, err
}

// hint returns the keys of the index by which matching events are read in an order.
func (s *Service) hint(ctx context.Context, ws uuid.UUID, compiled, sort bson.D) (bson.D, error) {
	return s.events.Store().Resolver().Matching(ws, query.Event, compiled).Hint(ctx, sort)
}

// digests are the resources that a reader of distinct resources has seen.
type digests map[[digestSize]byte]struct{}

// add reports whether the resource is a new one.
func (d digests) add(resource string) bool {
	whole := sha256.Sum256([]byte(resource))
	digest := [digestSize]byte(whole[:digestSize])
	_, found := d[digest]
	d[digest] = struct{}{}
	return !found
}

func (d digests) full() bool { return len(d) >= maxDistinct }

// readDistinct scans from the start and returns each resource once: the first event of a resource depends on all events
// before it.
func (s *Service) readDistinct(
	ctx context.Context, ws uuid.UUID, p position, compiled, sort bson.D,
) (events []*orchv1.ReceivedEvent, more bool, err error) {
	seen := digests{}
	var keys bson.A
	by := store.Query{Filter: compiled, Fields: []string{"_id", "resource_id"}, Sort: sort}
	err = store.EachRaw(ctx, s.events, ws, by, func(raw bson.Raw) bool {
		resource, _ := raw.Lookup("resource_id").StringValueOK()
		if !seen.add(resource) || int64(len(seen)) <= p.seen {
			return !seen.full()
		}
		if more = int64(len(keys)) == p.limit; more {
			return false
		}
		subtype, data := raw.Lookup("_id").Binary()
		keys = append(keys, bson.Binary{Subtype: subtype, Data: slices.Clone(data)})
		return !seen.full()
	})
	if err != nil || len(keys) == 0 {
		return nil, false, err
	}
	if seen.full() {
		if err := rpc.SetHeader(ctx, request.CountCappedHeader, strconv.Itoa(maxDistinct)); err != nil {
			return nil, false, err
		}
	}
	events, cut, err := s.events.Page(ctx, ws, store.Query{
		Filter: bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: keys}}}}, Sort: sort, Limit: p.limit, Bytes: maxPageBytes,
	})
	return events, more || cut, err
}
