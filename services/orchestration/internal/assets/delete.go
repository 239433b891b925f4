package assets

import (
	"context"
	"errors"
	"net/http"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// DeleteAsset deletes an asset, or returns a 404. Its events stay.
func (s *Service) DeleteAsset(ctx context.Context, r *orchv1.DeleteAssetRequest) (*emptypb.Empty, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	id := idOf(info.Workspace, r.GetKey())
	_, err = s.assets.Get(ctx, info.Workspace, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, rpc.Detail(http.StatusNotFound, "Asset not found")
	}
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.assets.DeleteMany(ctx, info.Workspace, bson.D{{Key: "_id", Value: store.Binary(id)}})
}
