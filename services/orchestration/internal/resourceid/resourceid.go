// Package resourceid reads what every call names: the workspace that it is bound to and the thing that it is about.
package resourceid

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// FromRequest reads the workspace of a call, which the gateway tells, and the id of its path. The contract has checked the id. A malformed id is treated as not found: the error matches store.ErrNotFound.
func FromRequest(ctx context.Context, id string) (ws, parsed uuid.UUID, err error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return uuid.Nil, uuid.Nil, err
	}
	if parsed, err = Parse(id); err != nil {
		return uuid.Nil, uuid.Nil, err
	}
	return info.Workspace, parsed, nil
}

// Parse reads the id of a thing as the API writes it. The error matches store.ErrNotFound: nothing has such an id.
func Parse(id string) (uuid.UUID, error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return uuid.Nil, fmt.Errorf("read the id %q: %w", id, errors.Join(store.ErrNotFound, err))
	}
	return parsed, nil
}
