package liveness

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Service serves the run timeouts of workspaces.
type Service struct {
	orchv1.UnimplementedRunTimeoutServiceServer
	timeouts  *store.Collection[*orchv1.RunTimeouts]
	lifecycle crud.Lifecycle[*orchv1.RunTimeouts]
	flush     outbox.Flusher
}

// New returns the service over a store.
func New(s *store.Store, v vocabulary.Vocabulary, flush outbox.Flusher) *Service {
	return &Service{
		timeouts: store.NewCollection(s, query.RunTimeouts, &orchv1.RunTimeouts{}),
		lifecycle: crud.Lifecycle[*orchv1.RunTimeouts]{
			Store: s, Vocabulary: v, Kind: "run-timeouts",
			Name:    func(*orchv1.RunTimeouts) string { return "" },
			Payload: []protoreflect.Name{"rules"},
		},
		flush: flush,
	}
}

// documentID derives the id of a workspace's document, so concurrent writers cannot create two.
func documentID(ws uuid.UUID) uuid.UUID { return uuid.NewSHA1(ws, []byte("run_timeouts")) }

// ReadRunTimeouts returns the rules of the workspace.
func (s *Service) ReadRunTimeouts(ctx context.Context, _ *emptypb.Empty) (*orchv1.RunTimeouts, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	id := documentID(info.Workspace)
	found, err := s.timeouts.Get(ctx, info.Workspace, id)
	if errors.Is(err, store.ErrNotFound) {
		return &orchv1.RunTimeouts{Id: id.String()}, nil
	}
	return found, err
}

// ReplaceRunTimeouts replaces the rules of the workspace.
func (s *Service) ReplaceRunTimeouts(ctx context.Context, r *orchv1.ReplaceRunTimeoutsRequest) (*orchv1.RunTimeouts, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	if err := check(r.GetTimeouts().GetRules()); err != nil {
		return nil, err
	}
	replaced, err := s.replace(ctx, info.Workspace, r.GetTimeouts().GetRules())
	if err != nil {
		return nil, err
	}
	s.flush.Flush(ctx, query.RunTimeouts, info.Workspace, documentID(info.Workspace))
	return replaced, nil
}

// replace changes or creates the one document. It is never deleted, because its id is derived.
func (s *Service) replace(ctx context.Context, ws uuid.UUID, rules []*orchv1.RunTimeoutRule) (*orchv1.RunTimeouts, error) {
	id := documentID(ws)
	edit := store.Edit(func(next *orchv1.RunTimeouts) error {
		next.Rules = rules
		return nil
	}, s.lifecycle.Updated(ctx, ws))
	for range 2 { // A concurrent call may create it between the change and the insert.
		changed, err := s.timeouts.Mutate(ctx, ws, id, edit)
		if !errors.Is(err, store.ErrNotFound) {
			return changed, err
		}
		fresh := &orchv1.RunTimeouts{Id: id.String(), Rules: rules}
		created, err := s.lifecycle.Created(ctx, ws, fresh)
		if err != nil {
			return nil, err
		}
		err = s.timeouts.Insert(ctx, ws, fresh, created...)
		if !errors.Is(err, store.ErrDuplicate) {
			return fresh, err
		}
	}
	return nil, fmt.Errorf("replace run timeouts: %w", store.ErrContention)
}

// all reads the rules of all workspaces.
func (s *Service) all(ctx context.Context) (timeoutSet, error) {
	set := timeoutSet{}
	err := s.timeouts.EachAcross(ctx, store.Query{}, func(ws uuid.UUID, t *orchv1.RunTimeouts) error {
		set.add(ws, t.GetRules())
		return nil
	})
	return set, err
}
