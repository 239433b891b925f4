package assets

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxText bounds a searched text in bytes. Databases refuse long patterns.
const maxText = 4 << 10

// ReadAssets returns the first assets that match, by key, and the number of all matches.
func (s *Service) ReadAssets(ctx context.Context, r *orchv1.ReadAssetsRequest) (*orchv1.AssetPage, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	filter, err := matching(r.GetQuery().GetFilter().GetKey())
	if err != nil {
		return nil, err
	}
	limit := r.GetQuery().GetLimit()
	if limit == 0 { // A request without a body.
		limit = 50
	}
	found, err := s.assets.Find(ctx, info.Workspace, store.Query{Filter: filter, Sort: bson.D{{Key: "key", Value: 1}}, Limit: limit})
	if err != nil {
		return nil, err
	}
	total, err := s.assets.Count(ctx, info.Workspace, store.Query{Filter: filter})
	return &orchv1.AssetPage{Assets: found, Total: total}, err
}

// matching compiles the conditions on keys.
func matching(key *orchv1.AssetFilterKey) (bson.D, error) {
	var conditions bson.A
	for _, c := range []struct {
		anchor, options string
		texts           []string
	}{{"^", "", key.GetPrefix()}, {"", "i", key.GetSearch()}} {
		var anyOf bson.A
		for _, text := range c.texts {
			if len(text) > maxText {
				return nil, rpc.Detail(http.StatusUnprocessableEntity, "A text of the filter is longer than 4096 bytes.")
			}
			// A pattern cannot contain a NUL byte, but it can escape one.
			pattern := c.anchor + strings.ReplaceAll(regexp.QuoteMeta(text), "\x00", `\x00`)
			anyOf = append(anyOf, bson.D{{Key: "key", Value: bson.D{{Key: "$regex", Value: pattern}, {Key: "$options", Value: c.options}}}})
		}
		if len(anyOf) > 0 {
			conditions = append(conditions, bson.D{{Key: "$or", Value: anyOf}})
		}
	}
	if len(conditions) == 0 {
		return nil, nil
	}
	return bson.D{{Key: "$and", Value: conditions}}, nil
}
