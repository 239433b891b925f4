package users

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// ReadMe returns the caller's user.
func (s *Service) ReadMe(ctx context.Context, _ *emptypb.Empty) (*orchv1.Profile, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	if info.Caller.ServiceAccount {
		b, err := s.registry.ServiceAccounts.First(ctx, info.Account, bson.D{{Key: "_id", Value: store.Binary(info.Caller.ID)}})
		if err != nil {
			return nil, tenancy.Missing(err, "Service account")
		}
		return &orchv1.Profile{Id: b.GetId(), ActorId: b.GetActorId(), Type: "service_account", Handle: b.GetName()}, nil
	}
	u, err := s.registry.Users.Get(ctx, tenancy.Server, me(info))
	if err != nil {
		return nil, tenancy.Missing(err, "User")
	}
	return &orchv1.Profile{
		Id: u.GetId(), ActorId: u.GetActorId(), Type: "user", Handle: u.GetHandle(),
		FirstName: u.GetFirstName(), LastName: u.GetLastName(), Email: proto.String(u.GetEmail()),
	}, nil
}

// ReadUser returns a user.
func (s *Service) ReadUser(ctx context.Context, r *orchv1.ReadUserRequest) (*orchv1.User, error) {
	_, id, err := self(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	u, err := s.registry.Users.Get(ctx, tenancy.Server, id)
	return u, tenancy.Missing(err, "User")
}

// UpdateUser changes the fields that the request contains; null leaves a field unchanged.
func (s *Service) UpdateUser(ctx context.Context, r *orchv1.UpdateUserRequest) (*emptypb.Empty, error) {
	info, id, err := self(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	update := r.GetUser()
	err = s.mutate(ctx, info, id, func(next *orchv1.User) (tenancy.AuditEntry, error) {
		for field, value := range map[*string]*string{
			&next.Handle: update.Handle, &next.FirstName: update.FirstName, &next.LastName: update.LastName, &next.Email: update.Email,
		} {
			if value != nil {
				*field = *value
			}
		}
		if account, _, ok := strings.Cut(next.GetAccountAddress(), " "); ok {
			next.AccountAddress = proto.String(account + " " + next.GetEmail())
		}
		return tenancy.AuditEntry{Kind: "user", Action: "updated", ID: id, Name: next.GetHandle()}, nil
	})
	if err != nil {
		return nil, tenancy.Missing(tenancy.Taken(err, "This handle or e-mail address is taken."), "User")
	}
	return &emptypb.Empty{}, nil
}

// ReadMyWorkspaces returns the workspaces of all accounts that the caller may enter.
func (s *Service) ReadMyWorkspaces(ctx context.Context, _ *emptypb.Empty) (*orchv1.MyWorkspaceList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	accounts, err := s.myAccounts(ctx, info)
	if err != nil {
		return nil, err
	}
	list := &orchv1.MyWorkspaceList{}
	for _, id := range accounts {
		account, err := s.registry.Accounts.Get(ctx, tenancy.Server, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		info.Account = id
		mine, err := s.registry.Enterable(ctx, info)
		if err != nil {
			return nil, err
		}
		filter := bson.D{}
		if mine != nil {
			filter = bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: mine}}}}
		}
		found, err := s.registry.Workspaces.Find(ctx, id, store.Query{Filter: filter, Sort: bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}, Bytes: store.MaxAnswerBytes})
		if err != nil {
			return nil, err
		}
		for _, w := range found {
			list.Workspaces = append(list.Workspaces, &orchv1.MyWorkspace{
				AccountId: account.GetId(), AccountName: account.GetName(), AccountHandle: account.GetHandle(),
				WorkspaceId: w.GetId(), WorkspaceName: w.GetName(), WorkspaceDescription: w.GetDescription(), WorkspaceHandle: w.GetHandle(),
			})
		}
	}
	return list, nil
}

// myAccounts returns the accounts that the caller is a member of; without API keys, all accounts.
func (s *Service) myAccounts(ctx context.Context, info request.Info) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	switch {
	case !info.Caller.Known():
		err := s.registry.Accounts.Each(ctx, tenancy.Server, store.Query{Sort: bson.D{{Key: "handle", Value: 1}}}, func(a *orchv1.Account) bool {
			ids = append(ids, uuid.MustParse(a.GetId()))
			return true
		})
		return ids, err
	case info.Caller.ServiceAccount:
		return []uuid.UUID{info.Account}, nil
	}
	err := s.registry.Memberships.EachAcross(ctx, store.Query{Filter: bson.D{{Key: "actor_id", Value: store.Binary(info.Caller.Actor)}}},
		func(account uuid.UUID, _ *orchv1.AccountMembership) error {
			ids = append(ids, account)
			return nil
		})
	return ids, err
}
