package tenancy_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// roles is a resource without a relay, so effects stay in the outboxes.
type roles struct {
	tenancy.Resource[*orchv1.WorkspaceRole]
	info request.Info
}

func newRoles(t *testing.T) roles {
	t.Helper()
	registry := tenancy.New(tenancy.Deps{Store: storetest.New(t, clock.System{}), Vocabulary: vocabulary.Orch})
	return roles{tenancy.Resource[*orchv1.WorkspaceRole]{
		Registry: registry, Documents: registry.Roles, Kind: directory.Role, Noun: "Workspace role", Taken: "The name is taken.",
		Audit: func(_ request.Info, role *orchv1.WorkspaceRole) tenancy.AuditEntry {
			return tenancy.AuditEntry{Kind: "workspace-role", Name: role.GetName()}
		},
	}, request.Info{Account: uuid.New()}}
}

func (r roles) create(t *testing.T, name string) uuid.UUID {
	t.Helper()
	id := uuid.New()
	require.NoError(t, r.Insert(t.Context(), r.info, r.info.Account, id, &orchv1.WorkspaceRole{Id: id.String(), Name: name}))
	return id
}

// kinds returns the kinds of the effects in the outbox of a role.
func (r roles) kinds(t *testing.T, id uuid.UUID) (kinds []string) {
	t.Helper()
	effects, err := r.Registry.Store.Pending(t.Context(), r.Documents.Name(), store.DocumentKey{ID: id})
	require.NoError(t, err)
	for _, e := range effects {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func requireStatus(t *testing.T, status int, err error) {
	t.Helper()
	require.Error(t, err)
	require.EqualValues(t, status, rpc.HTTPError(err).GetStatus())
}

// written are the effects of a change that a call made: the directory follows before the event tells of it.
var written = []string{tenancy.KindDirectory, events.KindPublish}

func TestResourceInsert(t *testing.T) {
	t.Parallel()
	r := newRoles(t)
	require.Equal(t, written, r.kinds(t, r.create(t, "operator")))
	id := uuid.New()
	requireStatus(t, http.StatusConflict, r.Insert(t.Context(), r.info, r.info.Account, id, &orchv1.WorkspaceRole{Id: id.String(), Name: "operator"}))
	r.Taken = ""
	require.ErrorIs(t, r.Insert(t.Context(), r.info, r.info.Account, id, &orchv1.WorkspaceRole{Id: id.String(), Name: "operator"}), store.ErrDuplicate)
}

func TestResourceEdit(t *testing.T) {
	t.Parallel()
	r := newRoles(t)
	id, edited := r.create(t, "operator"), 0
	rename := func(next *orchv1.WorkspaceRole) error {
		edited++
		next.Name = "viewer"
		return nil
	}
	for range 2 {
		role, err := r.Edit(t.Context(), r.info, r.info.Account, id, "updated", rename)
		require.NoError(t, err)
		require.Equal(t, "viewer", role.GetName())
	}
	require.Len(t, r.kinds(t, id), 2*len(written), "an edit without a difference has no effects")
	before := edited
	_, err := r.Edit(t.Context(), r.info, r.info.Account, uuid.New(), "updated", rename)
	requireStatus(t, http.StatusNotFound, err)
	_, err = r.Edit(t.Context(), r.info, uuid.New(), id, "updated", rename)
	requireStatus(t, http.StatusNotFound, err)
	require.Equal(t, before, edited, "there was nothing to edit")
}

func TestResourceDelete(t *testing.T) {
	t.Parallel()
	r := newRoles(t)
	id, refused := r.create(t, "operator"), errors.New("refused")
	err := r.Delete(t.Context(), r.info, r.info.Account, id, func(*orchv1.WorkspaceRole) ([]store.Effect, error) { return nil, refused })
	require.ErrorIs(t, err, refused)
	require.NoError(t, r.Delete(t.Context(), r.info, r.info.Account, id, func(current *orchv1.WorkspaceRole) ([]store.Effect, error) {
		require.Equal(t, "operator", current.GetName())
		return []store.Effect{r.Registry.RemoveActor(r.info.Account, id)}, nil
	}))
	kinds := r.kinds(t, id)
	require.Equal(t, tenancy.KindDismiss, kinds[2*len(written)], "after the directory, which refuses the actor already")
	requireStatus(t, http.StatusNotFound, r.Delete(t.Context(), r.info, r.info.Account, id, nil))
}

func TestResourceDeleteOf(t *testing.T) {
	t.Parallel()
	r := newRoles(t)
	ids := []uuid.UUID{r.create(t, "operator"), r.create(t, "viewer")}
	other := newRoles(t).info.Account
	require.NoError(t, r.DeleteOf(t.Context(), other, nil))
	found, err := r.Documents.Find(t.Context(), r.info.Account, store.Query{Bytes: store.MaxAnswerBytes})
	require.NoError(t, err)
	require.Len(t, found, 2, "of another account")
	require.NoError(t, r.DeleteOf(t.Context(), r.info.Account, func(id uuid.UUID) []store.Effect {
		return []store.Effect{r.Registry.RemoveActor(r.info.Account, id)}
	}))
	found, err = r.Documents.Find(t.Context(), r.info.Account, store.Query{Bytes: store.MaxAnswerBytes})
	require.NoError(t, err)
	require.Empty(t, found)
	for _, id := range ids {
		require.Equal(t, []string{tenancy.KindDirectory, tenancy.KindDismiss}, r.kinds(t, id)[len(written):len(written)+2], "without an audit event of its own")
	}
}
