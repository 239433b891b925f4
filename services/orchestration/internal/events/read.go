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
	limit := q.GetLimit()
	p := position{filter: filter, limit: limit}
	if err := s.searchable(ctx, in.id, named); err != nil {
		return nil, err
	}
	total, err := s.total(ctx, in.id, named, compiled, q.GetTotalLimit())
	if err != nil {
		return nil, err
	}
	p.total = total.n
	page := &orchv1.EventPage{Total: p.total}
	if limit > 0 {
		if page, err = s.page(ctx, in, p, compiled); err != nil {
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
	n, err := s.events.CountUpTo(ctx, ws, selected, s.totals.read+1)
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

// page reads a page, with the token of the next one if there is one.
func (s *Service) page(ctx context.Context, in owner, p position, compiled bson.D) (*orchv1.EventPage, error) {
	found, more, err := s.read(ctx, in.id, p, compiled)
	if err != nil {
		return nil, err
	}
	p.seen += int64(len(found))
	least := p.seen // Counting may have stopped before.
	if more {
		least++
	}
	p.total = max(p.total, least)
	page := &orchv1.EventPage{Events: found, Total: p.total}
	if !more || len(found) == 0 { // Or they were deleted concurrently.
		return page, nil
	}
	if err := p.goOnAfter(found[len(found)-1]); err != nil {
		return nil, err
	}
	token, err := p.token()
	if err != nil {
		return nil, err
	}
	page.NextPage = new(in.pages + url.QueryEscape(token))
	return page, nil
}

// read reads the events of a page, and reports whether there are more.
func (s *Service) read(ctx context.Context, ws uuid.UUID, p position, compiled bson.D) (found []*orchv1.ReceivedEvent, more bool, err error) {
	sort := query.EventSort(p.filter.GetOrder())
	if p.filter.GetResource().GetDistinct() {
		return s.readDistinct(ctx, ws, p, compiled, sort)
	}
	if p.afterID != uuid.Nil {
		compiled = query.EventsBeyond(compiled, p.filter.GetOrder(), p.afterOccurred, p.afterKey(ws))
	}
	page := store.Page{Sort: sort, Limit: int(p.limit), Bytes: maxPageBytes}
	if len(p.filter.GetResource().GetIdPrefix().GetValues()) > 0 && p.total <= fewEvents {
		page.Index = query.EventsByResource
	} else {
		page.Index = query.Hint(query.Event, query.Scope(ws, compiled), sort)
	}
	return s.events.FindWithin(ctx, ws, compiled, page)
}

// fewEvents is the number of events up to which fetching and sorting them is cheaper than scanning by time.
const fewEvents = 5000

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
) (found []*orchv1.ReceivedEvent, more bool, err error) {
	seen := digests{}
	var keys bson.A
	by := store.Projection{Fields: []string{"_id", "resource_id"}, Sort: sort}
	err = s.events.EachProjected(ctx, ws, compiled, by, func(raw bson.Raw) bool {
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
	found, cut, err := s.events.FindWithin(ctx, ws, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: keys}}}},
		store.Page{Sort: sort, Limit: int(p.limit), Bytes: maxPageBytes})
	return found, more || cut, err
}
