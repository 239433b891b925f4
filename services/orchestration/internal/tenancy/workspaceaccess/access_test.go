package workspaceaccess

import (
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

// world is the service on a store with a team and a service account, without a relay: effects stay in the outboxes.
type world struct {
	*Service
	t         *testing.T
	workspace uuid.UUID
	team, bot string
}

func newWorld(t *testing.T) world {
	t.Helper()
	s := storetest.New(t, clock.NewManual(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)))
	registry := tenancy.New(tenancy.Deps{Store: s, Vocabulary: vocabulary.Orch})
	w := world{Service: New(registry), t: t, workspace: uuid.New(), team: uuid.NewString(), bot: uuid.NewString()}
	account := request.DefaultAccount
	require.NoError(t, registry.Teams.Insert(t.Context(), account, &orchv1.Team{Id: w.team, AccountId: account.String(), Name: "team"}))
	require.NoError(t, registry.ServiceAccounts.Insert(t.Context(), account,
		&orchv1.ServiceAccount{Id: w.bot, ActorId: uuid.NewString(), AccountId: account.String(), Name: "bot"}))
	return w
}

// grantBots grants the same role to service accounts in one request.
func (w world) grantBots(role string, bots ...string) ([]*orchv1.WorkspaceAccess, error) {
	w.t.Helper()
	var grants []*orchv1.BotAccessGrant
	for _, bot := range bots {
		grants = append(grants, &orchv1.BotAccessGrant{WorkspaceRoleId: role, BotId: bot})
	}
	list, err := w.GrantBotAccess(requesttest.Incoming(w.t, w.workspace), &orchv1.GrantBotAccessRequest{Grants: &orchv1.BotAccessGrants{
		Kind: &orchv1.BotAccessGrants_List{List: &orchv1.BotAccessGrantList{Values: grants}},
	}})
	return list.GetAccesses(), err
}

func (w world) stored() int64 {
	w.t.Helper()
	n, err := w.registry.Access.Count(w.t.Context(), w.workspace, store.Query{})
	require.NoError(w.t, err)
	return n
}

func TestASecondGrantChangesTheRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, err := w.grantBots(access.WorkspaceViewer, w.bot)
	require.NoError(t, err)
	second, err := w.grantBots(access.WorkspaceRunner, w.bot)
	require.NoError(t, err)
	require.Equal(t, first[0].GetId(), second[0].GetId())
	require.Equal(t, access.WorkspaceRunner, second[0].GetWorkspaceRoleId())
	require.Equal(t, w.workspace.String(), second[0].GetWorkspaceId())
	require.EqualValues(t, 1, w.stored())
}

func TestAGrantToAnUnknownActorWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, bot := range map[string]string{"unknown": uuid.NewString(), "malformed": "no id", "a team": w.team} {
		t.Run(name, func(t *testing.T) {
			_, err := w.grantBots(access.WorkspaceViewer, w.bot, bot)
			require.Equal(t, int32(http.StatusUnprocessableEntity), rpc.HTTPError(err).GetStatus())
			require.Zero(t, w.stored())
		})
	}
}

func TestRevokeFindsAccessOfItsKindAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	granted, err := w.grantBots(access.WorkspaceViewer, w.bot)
	require.NoError(t, err)
	ctx := requesttest.Incoming(t, w.workspace)
	_, err = w.RevokeUserAccess(ctx, &orchv1.RevokeUserAccessRequest{Id: granted[0].GetId()})
	require.Equal(t, int32(http.StatusNotFound), rpc.HTTPError(err).GetStatus())
	_, err = w.RevokeTeamAccess(ctx, &orchv1.RevokeTeamAccessRequest{TeamId: w.team})
	require.Equal(t, int32(http.StatusNotFound), rpc.HTTPError(err).GetStatus())
	require.EqualValues(t, 1, w.stored())
	_, err = w.RevokeBotAccess(ctx, &orchv1.RevokeBotAccessRequest{Id: granted[0].GetId()})
	require.NoError(t, err)
	require.Zero(t, w.stored())
}
