package users

import (
	"context"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// maxKeys bounds the keys of one user: they are part of the user's document.
const maxKeys = 200

var errNoKey = rpc.Detail(http.StatusNotFound, "API key not found")

// CreateUserApiKey creates a key. Only this response contains it.
func (s *Service) CreateUserApiKey(ctx context.Context, r *orchv1.CreateUserApiKeyRequest) (*orchv1.ApiKey, error) { //nolint:staticcheck // The contract's name.
	info, id, err := self(ctx, r.GetUserId())
	if err != nil {
		return nil, err
	}
	create, reg := r.GetApiKey(), s.registry
	expiration, err := reg.Expiration(info.Caller, create.Expiration, "expiration")
	if err != nil {
		return nil, err
	}
	u, err := reg.Users.Get(ctx, tenancy.Server, id)
	if err != nil {
		return nil, tenancy.Missing(err, "User")
	}
	if account, ok := tenancy.AccountOf(u); ok {
		end, err := s.quotas.Begin(ctx, account, quota.APIKeys)
		if err != nil {
			return nil, err
		}
		defer end()
	}
	stored, shown := reg.NewKey(reg.Vocabulary.UserKeyPrefix(), create.GetName(), expiration)
	err = s.mutate(ctx, info, id, func(next *orchv1.User) (tenancy.AuditEntry, error) {
		next.Keys = append(tenancy.Alive(next.GetKeys(), reg.Store.Now()), stored)
		if len(next.GetKeys()) > maxKeys {
			return tenancy.AuditEntry{}, rpc.Detail(http.StatusConflict, "A user has at most 200 API keys.")
		}
		return keyEntry(stored, "created"), nil
	})
	if err != nil {
		return nil, tenancy.Missing(err, "User")
	}
	return shown, nil
}

func keyEntry(k *orchv1.ApiKey, action string) tenancy.AuditEntry {
	return tenancy.AuditEntry{Kind: "api-key", Action: action, ID: uuid.MustParse(k.GetId()), Name: k.GetName()}
}

// ReadUserApiKeys returns a user's unexpired keys, the oldest first.
func (s *Service) ReadUserApiKeys(ctx context.Context, r *orchv1.ReadUserApiKeysRequest) (*orchv1.ApiKeyList, error) { //nolint:staticcheck // The contract's name.
	_, id, err := self(ctx, r.GetUserId())
	if err != nil {
		return nil, err
	}
	u, err := s.registry.Users.Get(ctx, tenancy.Server, id)
	if err != nil {
		return nil, tenancy.Missing(err, "User")
	}
	list := &orchv1.ApiKeyList{}
	for _, k := range tenancy.Alive(u.GetKeys(), s.registry.Store.Now()) {
		list.ApiKeys = append(list.ApiKeys, tenancy.ShowKey(k))
	}
	return list, nil
}

// ReadUserApiKey returns a key's metadata.
func (s *Service) ReadUserApiKey(ctx context.Context, r *orchv1.ReadUserApiKeyRequest) (*orchv1.ApiKey, error) { //nolint:staticcheck // The contract's name.
	_, id, err := self(ctx, r.GetUserId())
	if err != nil {
		return nil, err
	}
	u, err := s.registry.Users.Get(ctx, tenancy.Server, id)
	if err != nil {
		return nil, tenancy.Missing(err, "User")
	}
	at := indexOf(u, r.GetId())
	if at < 0 {
		return nil, errNoKey
	}
	return tenancy.ShowKey(u.GetKeys()[at]), nil
}

// indexOf returns the index of a key by its id, or -1.
func indexOf(u *orchv1.User, id string) int {
	return slices.IndexFunc(u.GetKeys(), func(k *orchv1.ApiKey) bool { return k.GetId() == id })
}

// DeleteUserApiKey deletes a key.
func (s *Service) DeleteUserApiKey(ctx context.Context, r *orchv1.DeleteUserApiKeyRequest) (*emptypb.Empty, error) { //nolint:staticcheck // The contract's name.
	info, id, err := self(ctx, r.GetUserId())
	if err != nil {
		return nil, err
	}
	err = s.mutate(ctx, info, id, func(next *orchv1.User) (tenancy.AuditEntry, error) {
		at := indexOf(next, r.GetId())
		if at < 0 {
			return tenancy.AuditEntry{}, errNoKey
		}
		gone := next.GetKeys()[at]
		next.Keys = slices.Delete(next.GetKeys(), at, at+1)
		return keyEntry(gone, "deleted"), nil
	})
	if err != nil {
		return nil, tenancy.Missing(err, "User")
	}
	return &emptypb.Empty{}, nil
}
