package pagination

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Source is a collection that clients list, count and page through, within the workspace of the call.
//
// Every method takes a query message of the contract (FlowQuery, FlowCountQuery, …) and reads only its filters. nil,
// typed or not, matches everything. Sort, offset and limit are fields of many message types, so the caller passes them.
// Results are documents as stored; the caller owns and presents them.
type Source[M proto.Message] struct {
	collection *store.Collection[M]
	resolver   query.Resolver
	order      protoreflect.Enum
}

// NewSource returns the source of a collection. order is the default sort.
func NewSource[M proto.Message](collection *store.Collection[M], order protoreflect.Enum) Source[M] {
	return Source[M]{collection: collection, resolver: collection.Store().Resolver(), order: order}
}

// Order returns the requested order, or the fallback for nil and for a sort enum's UNSPECIFIED.
func Order(requested, fallback protoreflect.Enum) protoreflect.Enum {
	if requested == nil || requested.Number() == 0 {
		return fallback
	}
	return requested
}

// Select resolves a query. Several reads of one selection agree on the matches of related filters.
func (s Source[M]) Select(ctx context.Context, q proto.Message) (*query.Selection, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	return s.selectIn(ctx, info.Workspace, q)
}

func (s Source[M]) selectIn(ctx context.Context, ws uuid.UUID, q proto.Message) (*query.Selection, error) {
	plan, err := query.NewPlan(s.collection.Name(), q)
	if err != nil {
		return nil, err
	}
	return s.resolver.Select(ctx, ws, plan)
}

// limited is a count query with a limit, at which counting stops; 0 means none.
type limited interface{ GetLimit() int64 }

// Count returns the number of matching documents, up to the limit of the query if it has one.
func (s Source[M]) Count(ctx context.Context, q proto.Message) (*orchv1.CountResponse, error) {
	selection, err := s.Select(ctx, q)
	if err != nil {
		return nil, err
	}
	var limit int64
	if l, ok := q.(limited); ok {
		limit = l.GetLimit()
	}
	n, err := selection.CountUpTo(ctx, limit)
	return &orchv1.CountResponse{Count: n}, err
}

// List reads one page of the matching documents. The query message page has the place of the page, and q has the filters; they are
// one message unless the service adds a filter.
func (s Source[M]) List(ctx context.Context, q proto.Message, order protoreflect.Enum, page Query) ([]M, error) {
	var found []M
	if err := s.VisitPage(ctx, q, order, page, decoding(s.collection, &found)); err != nil {
		return nil, err
	}
	return found, nil
}

// VisitPage is List for a caller that uses the stored documents: it visits them in order. A document is valid only during its
// visit.
func (s Source[M]) VisitPage(ctx context.Context, q proto.Message, order protoreflect.Enum, page Query, visit func(doc bson.Raw) error) error {
	size, err := Limit(page.GetLimit())
	if err != nil {
		return err
	}
	return s.visit(ctx, q, order, page, size, visit)
}

// Read is List for a caller with bounds of its own. A size of 0 reads nothing.
func (s Source[M]) Read(ctx context.Context, q proto.Message, order protoreflect.Enum, page PositionQuery, size int64) ([]M, error) {
	var found []M
	if err := s.visit(ctx, q, order, page, size, decoding(s.collection, &found)); err != nil {
		return nil, err
	}
	return found, nil
}

func (s Source[M]) visit(ctx context.Context, q proto.Message, order protoreflect.Enum, page PositionQuery, size int64, visit func(doc bson.Raw) error) error {
	w, err := s.window(ctx, q, order, page, page.GetPageToken())
	if err != nil {
		return err
	}
	if err := w.atOffset(page.GetOffset(), size); err != nil {
		return err
	}
	if w.selection, err = s.Select(ctx, q); err != nil {
		return err
	}
	return w.visit(ctx, visit)
}

// window returns the window of a page, without selection and size.
func (s Source[M]) window(ctx context.Context, q proto.Message, order protoreflect.Enum, page proto.Message, text string) (*pageBounds, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	sort, err := query.Sort(Order(order, s.order))
	if err != nil {
		return nil, err
	}
	filters := []proto.Message{page}
	if q != page {
		filters = append(filters, q)
	}
	return newPageBounds(info.Workspace, page, text, filters, sort)
}

// Numbered is a page with its number.
type Numbered[M proto.Message] struct {
	Results []M
	// Count is the number of matching documents on all pages, or where counting stopped: see query.Selection.CountCapped.
	Count int64
	// Limit is the page size, Pages the number of pages, and Page the number of this one, counted from 1.
	Limit, Pages, Page int64
}

// Paginate reads a page by its number, counted from 1; a smaller number means the first page. A page beyond the last is
// empty.
func (s Source[M]) Paginate(ctx context.Context, q NumberedQuery, order protoreflect.Enum) (Numbered[M], error) {
	var results []M
	p, err := s.VisitNumbered(ctx, q, order, decoding(s.collection, &results))
	if err != nil {
		return Numbered[M]{}, err
	}
	p.Results = results
	return p, nil
}

// VisitNumbered is Paginate for a caller that uses the stored documents: it visits them in order, and returns the page without
// results. A document is valid only during its visit.
func (s Source[M]) VisitNumbered(ctx context.Context, q NumberedQuery, order protoreflect.Enum, visit func(doc bson.Raw) error) (Numbered[M], error) {
	size, err := Limit(q.GetLimit())
	if err != nil {
		return Numbered[M]{}, err
	}
	w, err := s.window(ctx, q, order, q, q.GetPageToken())
	if err != nil {
		return Numbered[M]{}, err
	}
	number, err := w.atPage(q.GetPage(), size)
	if err != nil {
		return Numbered[M]{}, err
	}
	if w.selection, err = s.Select(ctx, q); err != nil {
		return Numbered[M]{}, err
	}
	count, capped, err := w.selection.CountCapped(ctx)
	if err != nil {
		return Numbered[M]{}, err
	}
	if capped {
		if err := rpc.SetHeader(ctx, request.CountCappedHeader, strconv.FormatInt(count, 10)); err != nil {
			return Numbered[M]{}, err
		}
	}
	if err := w.visit(ctx, visit); err != nil {
		return Numbered[M]{}, err
	}
	return Numbered[M]{Count: count, Limit: size, Pages: Pages(count, size), Page: number}, nil
}

// Each visits at most limit matching documents by their ids. It skips documents for which visit returns
// store.ErrNotFound; any other error ends the iteration. It reads the ids before the first visit, so visit may delete.
func (s Source[M]) Each(ctx context.Context, q proto.Message, limit int64, visit func(ws, id uuid.UUID) error) error {
	info, err := request.Incoming(ctx)
	if err != nil {
		return err
	}
	selection, err := s.selectIn(ctx, info.Workspace, q)
	if err != nil {
		return err
	}
	if limit == 0 {
		return nil // A selection reads everything for a limit of 0.
	}
	sort, err := query.Sort(s.order)
	if err != nil {
		return err
	}
	var ids []uuid.UUID
	err = selection.Visit(ctx, sort, 0, limit, func(doc bson.Raw) error {
		id, err := store.UUID(doc.Lookup("_id"))
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("visit each %s: %w", s.collection.Name(), err)
	}
	for _, id := range ids {
		if err := visit(info.Workspace, id); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}
