package workspaces

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// newService returns the service on a store with the default account, without a relay: effects stay in the outboxes.
func newService(t *testing.T, empty func(context.Context, uuid.UUID) error) *Service {
	t.Helper()
	s := storetest.New(t, clock.NewManual(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)))
	registry := tenancy.New(tenancy.Deps{Store: s, Vocabulary: vocabulary.Orch})
	account := &orchv1.Account{Id: request.DefaultAccount.String(), Name: "account", Handle: "account"}
	require.NoError(t, registry.Accounts.Insert(t.Context(), tenancy.Server, account))
	return New(registry, empty)
}

func statusOf(err error) int32 {
	if err == nil {
		return http.StatusOK
	}
	return rpc.HTTPError(err).GetStatus()
}

func TestCreateWorkspace(t *testing.T) {
	t.Parallel()
	s := newService(t, nil)
	create := func(account uuid.UUID, w *orchv1.WorkspaceCreate) (*orchv1.Workspace, int32) {
		created, err := s.CreateWorkspace(requesttest.With(t, request.Info{Account: account}), &orchv1.CreateWorkspaceRequest{Workspace: w})
		return created, statusOf(err)
	}
	created, status := create(request.DefaultAccount, &orchv1.WorkspaceCreate{Name: "My Team"})
	require.Equal(t, int32(http.StatusOK), status)
	require.Equal(t, "my-team", created.GetHandle(), "the handle of a workspace without one follows its name")
	require.Equal(t, access.WorkspaceViewer, created.GetDefaultWorkspaceRoleId())
	_, status = create(request.DefaultAccount, &orchv1.WorkspaceCreate{Name: "Another Team", Handle: new("my-team")})
	require.Equal(t, int32(http.StatusConflict), status, "a handle exists once in an account")
	_, status = create(uuid.New(), &orchv1.WorkspaceCreate{Name: "My Team"})
	require.Equal(t, int32(http.StatusNotFound), status, "an unknown account")
}

func TestDeleteWorkspaceOfTheDefault(t *testing.T) {
	t.Parallel()
	s := newService(t, nil)
	workspace := &orchv1.Workspace{Id: request.DefaultWorkspace.String(), AccountId: request.DefaultAccount.String(), Name: "default", Handle: "default"}
	require.NoError(t, s.registry.Workspaces.Insert(t.Context(), request.DefaultAccount, workspace))
	_, err := s.DeleteWorkspace(requesttest.With(t, request.Info{Account: request.DefaultAccount}), &orchv1.DeleteWorkspaceRequest{Id: workspace.GetId()})
	require.Equal(t, int32(http.StatusConflict), statusOf(err))
	_, err = s.registry.Workspaces.Get(t.Context(), request.DefaultAccount, request.DefaultWorkspace)
	require.NoError(t, err)
}

// The effect of a deletion empties the workspace, and is tried again while that fails.
func TestEmptyFailsWithTheDeletionOfTheContents(t *testing.T) {
	t.Parallel()
	failure := errors.New("the store is away")
	var emptied []uuid.UUID
	s := newService(t, func(_ context.Context, workspace uuid.UUID) error {
		emptied = append(emptied, workspace)
		return failure
	})
	workspace := uuid.New()
	require.ErrorIs(t, s.Empty(t.Context(), s.emptied(request.DefaultAccount, workspace)), failure)
	require.Equal(t, []uuid.UUID{workspace}, emptied)
	require.NoError(t, s.Empty(t.Context(), []store.Effect{}))
}
