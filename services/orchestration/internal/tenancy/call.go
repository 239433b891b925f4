package tenancy

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Locate returns the workspace or account of a call and the id of its resource. An invalid id returns "not found".
func Locate(ctx context.Context, id, what string) (request.Info, uuid.UUID, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return info, uuid.Nil, err
	}
	parsed, err := resourceid.Parse(id)
	return info, parsed, Missing(err, what)
}

// List returns an account's documents that match a filter message, sorted by name. An optional within restricts them.
func List[M proto.Message](
	ctx context.Context, collection *store.Collection[M], account uuid.UUID, matching proto.Message, within bson.D, page pagination.Query,
) ([]M, error) {
	criteria, err := query.Compile(matching)
	if err != nil {
		return nil, err
	}
	filter, err := criteria.BSON()
	if err != nil {
		return nil, err
	}
	if within != nil {
		filter = bson.D{{Key: "$and", Value: bson.A{filter, within}}}
	}
	return pagination.Find(ctx, collection, account, filter, bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}, page, page)
}
