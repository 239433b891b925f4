package pagination

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Source is a collection that clients list, count and page through, within the workspace of the call.
//
// Every method takes the query message of the contract (FlowQuery, FlowCountQuery, …), of which it looks at the filters
// alone; nil, typed or not, means everything. Sort, offset and limit stand in messages of many types, so the caller
// hands them over. What comes back is as stored: the caller presents it, and owns it.
type Source[M proto.Message] struct {
	collection *store.Collection[M]
	resolver   query.Resolver
	order      protoreflect.Enum
}

// NewSource returns the source of a collection. Where a call names no order, it is that one.
func NewSource[M proto.Message](of *store.Collection[M], order protoreflect.Enum) Source[M] {
	return Source[M]{collection: of, resolver: query.Resolver{Reader: of.Store().Reader()}, order: order}
}

// Order is the order that was asked for, or the fallback where none was: nil, or a sort enum's UNSPECIFIED.
func Order(asked, fallback protoreflect.Enum) protoreflect.Enum {
	if asked == nil || asked.Number() == 0 {
		return fallback
	}
	return asked
}

// Select makes a query ready. The selection serves several reads, which then agree on what related filters matched.
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

// Count answers how many documents match.
func (s Source[M]) Count(ctx context.Context, q proto.Message) (*orchv1.CountResponse, error) {
	selection, err := s.Select(ctx, q)
	if err != nil {
		return nil, err
	}
	n, err := selection.Count(ctx)
	return &orchv1.CountResponse{Count: n}, err
}

// List reads the documents that match from offset on, at most as many as the page that was asked for holds: Limit reads
// it and refuses what is out of bounds.
func (s Source[M]) List(ctx context.Context, q proto.Message, order protoreflect.Enum, offset int64, limit *orchv1.PageLimit) ([]M, error) {
	size, err := Limit(limit)
	if err != nil {
		return nil, err
	}
	return s.Read(ctx, q, order, offset, size)
}

// Read is List for a caller with bounds of its own. A limit of 0 means none.
func (s Source[M]) Read(ctx context.Context, q proto.Message, order protoreflect.Enum, offset, limit int64) ([]M, error) {
	selection, err := s.Select(ctx, q)
	if err != nil {
		return nil, err
	}
	return s.read(ctx, selection, order, offset, limit)
}

// Numbered is a page that is known by its number.
type Numbered[M proto.Message] struct {
	Results []M
	// Count is how many documents match on all pages.
	Count int64
	// Limit is the size of a page, Pages how many there are, and Page which one this is, counted from 1.
	Limit, Pages, Page int64
}

// Paginate reads the page of that number, counted from 1; one before the first is the first. A page beyond the last is
// empty.
func (s Source[M]) Paginate(ctx context.Context, q proto.Message, order protoreflect.Enum, number int64, limit *orchv1.PageLimit) (Numbered[M], error) {
	size, err := Limit(limit)
	if err != nil {
		return Numbered[M]{}, err
	}
	selection, err := s.Select(ctx, q)
	if err != nil {
		return Numbered[M]{}, err
	}
	count, err := selection.Count(ctx)
	if err != nil {
		return Numbered[M]{}, err
	}
	number = max(number, 1)
	results, err := s.read(ctx, selection, order, Offset(number, size), size)
	if err != nil {
		return Numbered[M]{}, err
	}
	return Numbered[M]{Results: results, Count: count, Limit: size, Pages: Pages(count, size), Page: number}, nil
}

// Each visits the first documents that match, at most limit of them, by their ids. Those that are gone when their turn
// comes, for which visit returns store.ErrNotFound, are passed over; any other error ends the walk. The ids are read
// before the first visit, so visit may delete.
func (s Source[M]) Each(ctx context.Context, q proto.Message, limit int64, visit func(ws, id uuid.UUID) error) error {
	info, err := request.Incoming(ctx)
	if err != nil {
		return err
	}
	selection, err := s.selectIn(ctx, info.Workspace, q)
	if err != nil {
		return err
	}
	raws, err := s.raws(ctx, selection, nil, 0, limit)
	if err != nil {
		return err
	}
	for _, raw := range raws {
		id, err := store.UUID(raw.Lookup("_id"))
		if err != nil {
			return fmt.Errorf("visit each %s: %w", s.collection.Name(), err)
		}
		if err := visit(info.Workspace, id); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (s Source[M]) read(ctx context.Context, of *query.Selection, order protoreflect.Enum, offset, limit int64) ([]M, error) {
	if limit == 0 {
		return nil, nil // To a selection it means all.
	}
	sort, err := query.Sort(Order(order, s.order))
	if err != nil {
		return nil, err
	}
	var found []M
	err = of.Visit(ctx, sort, offset, limit, func(doc bson.Raw) error {
		m, err := s.collection.Decode(doc)
		if err != nil {
			return err
		}
		found = append(found, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// raws are stored documents, in order. To a selection a limit of 0 means all, so nobody else may ask it.
func (s Source[M]) raws(ctx context.Context, of *query.Selection, order protoreflect.Enum, offset, limit int64) ([]bson.Raw, error) {
	if limit == 0 {
		return nil, nil
	}
	sort, err := query.Sort(Order(order, s.order))
	if err != nil {
		return nil, err
	}
	return of.Page(ctx, sort, offset, limit)
}
