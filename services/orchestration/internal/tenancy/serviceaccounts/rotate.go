package serviceaccounts

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// maxKeys bounds the simultaneously valid keys: they are part of one document.
const maxKeys = 50

// RotateServiceAccountApiKey gives a service account a new key, which only this response contains. The old keys stay
// valid for the requested overlap, but never beyond their own expiration.
func (s *Service) RotateServiceAccountApiKey(ctx context.Context, r *orchv1.RotateServiceAccountApiKeyRequest) (*orchv1.ServiceAccount, error) { //nolint:staticcheck // The contract's name.
	info, id, err := tenancy.Locate(ctx, r.GetId(), noun)
	if err != nil {
		return nil, err
	}
	rotation, reg := r.GetRotation(), s.registry
	expiration, err := reg.Expiration(info.Caller, rotation.GetApiKeyExpiration(), "api_key_expiration")
	if err != nil {
		return nil, err
	}
	overlap := time.Duration(rotation.GetOldKeyExpiresInSeconds()) * time.Second
	var shown *orchv1.ApiKey
	b, err := s.mutate(ctx, info, id, "rotated", func(next *orchv1.ServiceAccount) error {
		var stored *orchv1.ApiKey
		stored, shown = reg.NewKey(reg.Vocabulary.BotKeyPrefix(), next.GetName(), expiration)
		next.Keys = append(expiring(next.GetKeys(), reg.Store.Now(), overlap), stored)
		if len(next.GetKeys()) > maxKeys {
			return rpc.Detail(http.StatusConflict, "Too many keys of this service account are still valid; wait, or let them expire at once.")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	b.ApiKey = shown
	return b, nil
}

// expiring returns the valid keys, each expiring after the overlap at the latest.
func expiring(keys []*orchv1.ApiKey, now time.Time, overlap time.Duration) []*orchv1.ApiKey {
	if overlap == 0 {
		return nil
	}
	end := now.Add(overlap)
	keys = tenancy.Alive(keys, now)
	for _, k := range keys {
		if k.Expiration == nil || k.GetExpiration().AsTime().After(end) {
			k.Expiration = timestamppb.New(end)
		}
	}
	return keys
}
