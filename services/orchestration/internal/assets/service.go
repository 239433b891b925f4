// Package assets keeps the assets that flows materialize or reference.
//
// An asset is known by its events: the consumer that stores events records the key and the time of the latest one. A client
// lists assets and deletes them; a later event of a deleted asset creates it again.
package assets

import (
	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves assets.
type Service struct {
	orchv1.UnimplementedAssetServiceServer
	assets *store.Collection[*orchv1.Asset]
	vocab  vocabulary.Vocabulary
}

// New returns the service over a store.
func New(s *store.Store, v vocabulary.Vocabulary) *Service {
	return &Service{assets: store.NewCollection(s, query.Asset, &orchv1.Asset{}), vocab: v}
}

// idOf returns the id of the asset with a key. It follows from the key, so concurrent records of a key collide.
func idOf(ws uuid.UUID, key string) uuid.UUID { return uuid.NewSHA1(ws, []byte(key)) }
