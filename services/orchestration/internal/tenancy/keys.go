package tenancy

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// NewKey creates an API key. The first result is stored in its owner's document; the second contains the key and is
// shown once.
func (r *Registry) NewKey(prefix, name string, expiration *timestamppb.Timestamp) (stored, shown *orchv1.ApiKey) {
	key, digest := auth.NewKey(prefix)
	id, now := r.Store.NewID().String(), timestamppb.New(r.Store.Now())
	stored = &orchv1.ApiKey{Id: id, Created: now, Name: name, Expiration: expiration, Digest: digest}
	shown = &orchv1.ApiKey{Id: id, Created: now, Name: name, Expiration: expiration, Key: &key}
	return stored, shown
}

// Expiration returns the expiration of a new key: the requested one, or else that of the caller's key. It rejects a key that would
// already be expired, and one that would outlive the key that creates it.
func (r *Registry) Expiration(caller request.Caller, requested *timestamppb.Timestamp, field string) (*timestamppb.Timestamp, error) {
	limit := caller.KeyExpires
	switch {
	case requested == nil && limit.IsZero():
		return nil, nil
	case requested == nil:
		return timestamppb.New(limit), nil
	case !requested.AsTime().After(r.Store.Now()):
		return nil, rpc.Invalid(rpc.BodyError("value_error", "Value error, the expiration is in the past", field))
	case !limit.IsZero() && requested.AsTime().After(limit):
		return nil, rpc.Invalid(rpc.BodyError("value_error",
			"Value error, a key cannot create one that lives longer: yours expires at "+limit.UTC().Format(time.RFC3339), field))
	}
	return requested, nil
}

// Alive returns the keys that have not expired.
func Alive(keys []*orchv1.ApiKey, now time.Time) []*orchv1.ApiKey {
	return slices.DeleteFunc(slices.Clone(keys), func(k *orchv1.ApiKey) bool {
		return k.Expiration != nil && !k.GetExpiration().AsTime().After(now)
	})
}

// ShowKey returns a stored key as clients may read it: without its digest.
func ShowKey(k *orchv1.ApiKey) *orchv1.ApiKey {
	return &orchv1.ApiKey{Id: k.GetId(), Created: k.GetCreated(), Name: k.GetName(), Expiration: k.Expiration}
}
