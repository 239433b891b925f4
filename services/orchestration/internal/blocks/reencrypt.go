package blocks

import (
	"context"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Reencrypt encrypts the data of every document with the first key, where another one did; without write it only examines. It calls
// done for each document, and goes on after a document that fails.
func (s *Service) Reencrypt(ctx context.Context, write bool, done func(changed bool, err error) error) error {
	return s.documents.EachAcross(ctx, store.Query{}, func(ws uuid.UUID, document *orchv1.BlockDocument) error {
		if s.keys.Current(document.GetSealedData()) {
			return done(false, nil)
		}
		if !write {
			return done(true, nil)
		}
		id, err := resourceid.Parse(document.GetId())
		if err == nil {
			_, err = s.documents.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.BlockDocument) error {
				at, err := dataField(ws, next)
				if err != nil {
					return err
				}
				next.SealedData, _, err = s.keys.Reseal(at, next.GetSealedData())
				return err
			}, nil))
		}
		return done(err == nil, err)
	})
}
