// Package crud holds the steps that the CRUD use cases of stored resources share. A use case passes what it checks,
// writes and causes as functions, so the package of its noun still shows what it does.
//
//	request ──► workspace and id ──► function of the noun ──► store
//	                  │                        │
//	                  └── store.ErrNotFound ◄──┘ ──► 404 with the noun's text
//
// Lists, counts and pages are in package pagination.
package crud

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// NotFound is the text of the 404 for an unknown resource of one kind.
type NotFound string

// Translate returns the 404 for an error that matches store.ErrNotFound, and every other error unchanged.
func (n NotFound) Translate(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Detail(http.StatusNotFound, string(n))
	}
	return err
}

// ByID serves a request for the resource of an id: use receives the request's workspace and the parsed id. A malformed
// id, and store.ErrNotFound of use, return the 404.
func ByID[R any](ctx context.Context, n NotFound, id string, use func(ctx context.Context, ws, id uuid.UUID) (R, error)) (R, error) {
	var none R
	ws, parsed, err := resourceid.FromRequest(ctx, id)
	if err != nil {
		return none, n.Translate(err)
	}
	response, err := use(ctx, ws, parsed)
	if err != nil {
		return none, n.Translate(err)
	}
	return response, nil
}

// ByKey is ByID for a key other than the id, such as a name, which is unique within the workspace.
func ByKey[R any](ctx context.Context, n NotFound, key string, use func(ctx context.Context, ws uuid.UUID, key string) (R, error)) (R, error) {
	var none R
	info, err := request.Incoming(ctx)
	if err != nil {
		return none, err
	}
	response, err := use(ctx, info.Workspace, key)
	if err != nil {
		return none, n.Translate(err)
	}
	return response, nil
}

// Delete is ByID for a use case that deletes the resource and responds with an empty body.
func Delete(ctx context.Context, n NotFound, id string, remove func(ctx context.Context, ws, id uuid.UUID) error) (*emptypb.Empty, error) {
	return ByID(ctx, n, id, func(ctx context.Context, ws, id uuid.UUID) (*emptypb.Empty, error) {
		return &emptypb.Empty{}, remove(ctx, ws, id)
	})
}
