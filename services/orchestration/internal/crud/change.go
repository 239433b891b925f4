package crud

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Change edits the document of an id together with the effects of the edit, and returns the stored document. It returns
// store.ErrNotFound for an unknown id.
type Change[M proto.Message] func(ctx context.Context, ws, id uuid.UUID, edit func(next M) error) (M, error)

// Update is ByID for a use case that edits the resource and responds with an empty body.
func Update[M proto.Message](ctx context.Context, n NotFound, id string, change Change[M], edit func(next M) error) (*emptypb.Empty, error) {
	return ByID(ctx, n, id, func(ctx context.Context, ws, id uuid.UUID) (*emptypb.Empty, error) {
		_, err := change(ctx, ws, id, edit)
		return &emptypb.Empty{}, err
	})
}

// Masked is the edit that copies the fields of a mask from an update message.
func Masked[M proto.Message](update proto.Message, mask *fieldmaskpb.FieldMask) func(next M) error {
	return func(next M) error {
		fieldmask.Apply(next, update, mask.GetPaths())
		return nil
	}
}

// Replacement is how PUT replaces a resource.
type Replacement[M proto.Message] struct {
	NotFound NotFound
	// Build makes the document from the request; its error refuses the request.
	Build func(id uuid.UUID) (M, error)
	// Change replaces an existing document.
	Change Change[M]
	// Insert stores a new document together with the effects of the creation.
	Insert func(ctx context.Context, ws uuid.UUID, m M) error
}

// Put replaces the document of an id, or creates it: 200 or 201. The first of two concurrent creations wins; the other
// returns the error of Insert, store.ErrDuplicate unless Insert translates it.
func (r Replacement[M]) Put(ctx context.Context, id string) (M, error) {
	var none M
	ws, parsed, err := resourceid.FromRequest(ctx, id)
	if err != nil {
		return none, r.NotFound.Translate(err)
	}
	m, err := r.Build(parsed)
	if err != nil {
		return none, err
	}
	replaced, err := r.Change(ctx, ws, parsed, store.ReplaceWith(m))
	if !errors.Is(err, store.ErrNotFound) {
		return replaced, err
	}
	if err := r.Insert(ctx, ws, m); err != nil {
		return none, err
	}
	return m, rpc.SetStatus(ctx, http.StatusCreated)
}
