package pagination

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// PositionQuery is a query message of the contract with the position of a page: an offset, or the token of the preceding page.
type PositionQuery interface {
	proto.Message
	GetOffset() int64
	GetPageToken() string
}

// Query is a query message that requests a page by its position and size.
type Query interface {
	PositionQuery
	GetLimit() *orchv1.PageLimit
}

// NumberedQuery is a query message that requests a page by its number, counted from 1, or by the token of the preceding page.
type NumberedQuery interface {
	proto.Message
	GetPage() int64
	GetLimit() *orchv1.PageLimit
	GetPageToken() string
}

// pageBounds is one page of a sorted list.
type pageBounds struct {
	owner     uuid.UUID       // The workspace or the account.
	page      proto.Message   // The query message.
	filters   []proto.Message // The messages that the filter follows from.
	selection *query.Selection
	sort      bson.D
	offset    int64
	limit     int64
	token     token
	started   bool // The page begins behind the token.
	numbered  bool // The token has the number of its page.
}

// newPageBounds returns the window of a page, without selection and size. It checks that a token belongs to the list.
func newPageBounds(owner uuid.UUID, page proto.Message, text string, filters []proto.Message, sort bson.D) (*pageBounds, error) {
	w := &pageBounds{owner: owner, page: page, filters: filters, sort: sort}
	if text == "" {
		return w, nil
	}
	binding, err := bind(owner, page, filters, sort)
	if err != nil {
		return nil, err
	}
	refuse := func(reason string) error { return w.invalid(request.PageTokenField, "the page token "+reason) }
	if w.token, err = parseToken(text); err != nil {
		return nil, refuse("is malformed or was issued by another version of the server")
	}
	switch {
	case w.token.binding.operation != binding.operation:
		return nil, refuse("was issued by another operation or for another workspace")
	case w.token.binding.filter != binding.filter:
		return nil, refuse("was issued for another filter")
	case w.token.binding.sort != binding.sort || len(w.token.after) != len(sort):
		return nil, refuse("was issued for another sort")
	}
	w.started = true
	return w, nil
}

// atOffset sets the place of a page by offset and size.
func (w *pageBounds) atOffset(offset, limit int64) error {
	if w.started && offset != 0 {
		return w.invalid("offset", "an offset and a page token exclude each other")
	}
	w.offset, w.limit = offset, limit
	return nil
}

// atPage sets the place of a page by number and size, and returns the number of the page.
func (w *pageBounds) atPage(number, limit int64) (int64, error) {
	number = max(number, 1)
	if w.started && number > 1 {
		return 0, w.invalid("page", "a page number and a page token exclude each other")
	}
	if w.started {
		number = int64(min(max(w.token.page, 1), 1<<53)) // #nosec G115 -- Bounded.
	}
	w.offset, w.limit, w.numbered, w.token.page = Offset(number, limit), limit, true, uint64(number) // #nosec G115 -- Not negative.
	return number, nil
}

// invalid is the 422 for a field of a query.
func (w *pageBounds) invalid(field, text string) error {
	report := rpc.BodyError
	fd := w.page.ProtoReflect().Descriptor().Fields().ByName(request.PageTokenField)
	if restjson.Options(fd).GetIn() == orchv1.In_IN_QUERY {
		report = rpc.QueryError
	}
	return rpc.Invalid(report("value_error", "Value error, "+text, field))
}

// maxPageBytes bounds the documents of a page as they are stored. A client that counts offsets would miss documents behind a page that
// is cut, so the page is refused.
const maxPageBytes = 32 << 20

// visit visits the documents of the page. If the page is full, it then sets the response header with the token of the next one.
func (w *pageBounds) visit(ctx context.Context, visit func(doc bson.Raw) error) error {
	if w.limit == 0 {
		return nil // A selection reads everything for a limit of 0.
	}
	var last query.Position
	var n int64
	var size int
	err := w.read(ctx, func(doc bson.Raw) error {
		if size += len(doc); size > maxPageBytes {
			return w.invalid("limit", fmt.Sprintf("the page has more than %d MiB, request smaller pages: the first %d documents fit", maxPageBytes>>20, n))
		}
		if n++; n == w.limit {
			last = query.PositionOf(w.sort, doc)
		}
		return visit(doc)
	})
	if err != nil || last == nil {
		return err
	}
	return w.announce(ctx, last)
}

// announce sets the response header with the token of the page behind a position.
func (w *pageBounds) announce(ctx context.Context, last query.Position) error {
	next, err := w.next(last)
	if err != nil {
		return err
	}
	return rpc.SetHeader(ctx, request.NextPageTokenHeader, next)
}

// next returns the token of the page behind a position.
func (w *pageBounds) next(last query.Position) (text string, err error) {
	next := token{binding: w.token.binding, after: last} // The token of this page belongs to the same list.
	if !w.started {
		if next.binding, err = bind(w.owner, w.page, w.filters, w.sort); err != nil {
			return "", err
		}
	}
	if w.numbered {
		next.page = w.token.page + 1
	}
	return next.String(), nil
}

func (w *pageBounds) read(ctx context.Context, visit func(doc bson.Raw) error) error {
	if !w.started {
		return w.selection.Visit(ctx, w.sort, w.offset, w.limit, visit)
	}
	after := w.token.after
	if slices.ContainsFunc(after, func(v bson.RawValue) bool { return v.Type == longText }) {
		stored, err := w.selection.Locate(ctx, w.sort, after[len(after)-1])
		if err != nil {
			return err
		}
		if !w.token.matches(stored) {
			return w.invalid(request.PageTokenField, "the page token has expired, because its row was changed or deleted; read the list from its beginning")
		}
		after = stored
	}
	return w.selection.VisitAfter(ctx, w.sort, after, w.limit, visit)
}
