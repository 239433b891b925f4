package destinations

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Reencrypt encrypts the secrets of every destination with the first key, where another one did; without write it only examines. It
// calls done for each destination, also after a failure.
func (s *Service) Reencrypt(ctx context.Context, write bool, done func(changed bool, err error) error) error {
	return s.destinations.EachAcross(ctx, store.Query{}, func(ws uuid.UUID, d *orchv1.Destination) error {
		if !slices.ContainsFunc(slices.Collect(maps.Values(sealedOf(d))), func(sealed *string) bool { return sealed != nil }) {
			return nil
		}
		id, err := resourceid.Parse(d.GetId())
		if err != nil {
			return done(false, err)
		}
		reseal := func(next *orchv1.Destination) ([]store.Effect, error) { return nil, s.reseal(ws, next) }
		if !write {
			next := proto.CloneOf(d)
			_, err := reseal(next)
			return done(err != nil || !proto.Equal(d, next), nil)
		}
		changed, err := s.edit(ctx, ws, id, reseal)
		return done(err == nil && !maps.EqualFunc(sealedOf(changed), sealedOf(d), func(a, b *string) bool { return a == nil || b == nil || *a == *b }), err)
	})
}

// sealedOf returns the encrypted fields of a destination.
func sealedOf(d *orchv1.Destination) map[string]*string {
	return map[string]*string{
		fieldHeaders: d.SealedHeaders, fieldSecret: d.SealedSecret, fieldClientSecret: d.SealedClientSecret, fieldKey: d.SealedKey, fieldToken: d.SealedToken,
	}
}

// reseal encrypts the secrets of a destination with the first key.
func (s *Service) reseal(ws uuid.UUID, d *orchv1.Destination) error {
	for field, sealed := range sealedOf(d) {
		if sealed == nil {
			continue
		}
		location, err := at(ws, d, field)
		if err != nil {
			return err
		}
		raw, err := base64.StdEncoding.DecodeString(*sealed)
		if err != nil {
			return fmt.Errorf("open %s: %w", field, err)
		}
		next, _, err := s.Secrets.Reseal(location, raw)
		if err != nil {
			return fmt.Errorf("encrypt %s: %w", field, err)
		}
		*sealed = base64.StdEncoding.EncodeToString(next)
	}
	return nil
}
