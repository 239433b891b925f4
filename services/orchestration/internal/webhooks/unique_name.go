package webhooks

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

var errNameTaken = rpc.Detail(http.StatusConflict, "Another webhook of the workspace has this name")

// claimName refuses a new name that another webhook has, if names must be unique. An index refuses one of two concurrent claims;
// see nameTaken. It does not cover webhooks that were named without the setting, so those are looked for.
func (s *Service) claimName(ctx context.Context, ws uuid.UUID, before, w *orchv1.Webhook) error {
	if before != nil && before.GetName() == w.GetName() {
		return nil
	}
	w.UniqueName = nil
	if !s.uniqueNames {
		return nil
	}
	named := bson.D{{Key: "name", Value: w.GetName()}}
	found, err := s.webhooks.Find(ctx, ws, store.Query{Filter: named, Sort: bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}, Limit: 2})
	if err != nil {
		return err
	}
	for _, other := range found {
		if other.GetId() != w.GetId() {
			return errNameTaken
		}
	}
	name := w.GetName()
	w.UniqueName = &name
	return nil
}

// nameTaken translates the refusal of the index of unique names.
func (s *Service) nameTaken(err error) error {
	if s.uniqueNames && errors.Is(err, store.ErrDuplicate) {
		return errNameTaken
	}
	return err
}
