package teams

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is the service on a store, without a relay: effects stay in the outboxes.
type world struct {
	*Service
	t *testing.T
}

func newWorld(t *testing.T) world {
	t.Helper()
	registry := tenancy.New(tenancy.Deps{Store: storetest.New(t, clock.NewManual(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))), Vocabulary: vocabulary.Orch})
	return world{New(registry), t}
}

// team stores a team with a number of members.
func (w world) team(members int) string {
	w.t.Helper()
	id := uuid.New()
	team := &orchv1.Team{Id: id.String(), AccountId: request.DefaultAccount.String(), Name: "team-" + id.String()}
	for range members {
		team.Memberships = append(team.Memberships, &orchv1.TeamMembership{Id: uuid.NewString(), MemberId: uuid.NewString()})
	}
	require.NoError(w.t, w.registry.Teams.Insert(w.t.Context(), request.DefaultAccount, team))
	return id.String()
}

// serviceAccounts stores service accounts, and returns them as members and their actor ids.
func (w world) serviceAccounts(n int) (members []*orchv1.TeamMember, actors []string) {
	w.t.Helper()
	for i := range n {
		account := &orchv1.ServiceAccount{Id: uuid.NewString(), ActorId: uuid.NewString(), AccountId: request.DefaultAccount.String(), Name: fmt.Sprintf("bot-%d", i)}
		require.NoError(w.t, w.registry.ServiceAccounts.Insert(w.t.Context(), request.DefaultAccount, account))
		members = append(members, &orchv1.TeamMember{MemberId: account.GetId(), MemberType: orchv1.TeamMemberType_TEAM_MEMBER_TYPE_SERVICE_ACCOUNT})
		actors = append(actors, account.GetActorId())
	}
	return members, actors
}

func (w world) add(team string, members ...*orchv1.TeamMember) int32 {
	w.t.Helper()
	_, err := w.AddTeamMembers(requesttest.Incoming(w.t, uuid.New()), &orchv1.AddTeamMembersRequest{Id: team, Members: &orchv1.TeamMembers{Members: members}})
	if err == nil {
		return http.StatusOK
	}
	return rpc.HTTPError(err).GetStatus()
}

func (w world) remove(team, actor string) int32 {
	w.t.Helper()
	_, err := w.RemoveTeamMember(requesttest.Incoming(w.t, uuid.New()), &orchv1.RemoveTeamMemberRequest{Id: team, ActorId: actor})
	if err == nil {
		return http.StatusOK
	}
	return rpc.HTTPError(err).GetStatus()
}

// actors returns the actor ids of a team's members.
func (w world) actors(team string) (actors []string) {
	w.t.Helper()
	read, err := w.ReadTeam(requesttest.Incoming(w.t, uuid.New()), &orchv1.ReadTeamRequest{Id: team})
	require.NoError(w.t, err)
	for _, m := range read.GetMemberships() {
		actors = append(actors, m.GetId())
	}
	return actors
}

func TestMembersOfATeam(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	team := w.team(0)
	members, actors := w.serviceAccounts(2)
	require.EqualValues(t, http.StatusOK, w.add(team, members[0]))
	require.EqualValues(t, http.StatusOK, w.add(team, members[0], members[1]), "a member that is there is no error")
	require.Equal(t, actors, w.actors(team))
	require.EqualValues(t, http.StatusOK, w.remove(team, actors[0]))
	require.EqualValues(t, http.StatusNotFound, w.remove(team, actors[0]))
	require.Equal(t, actors[1:], w.actors(team))
	require.EqualValues(t, http.StatusNotFound, w.add(uuid.NewString(), members[0]), "another team")
}

func TestAddingMembersAddsAllOrNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	members, _ := w.serviceAccounts(2)
	stranger := &orchv1.TeamMember{MemberId: uuid.NewString(), MemberType: orchv1.TeamMemberType_TEAM_MEMBER_TYPE_USER}
	for name, c := range map[string]struct {
		before int
		added  []*orchv1.TeamMember
		status int32
	}{
		"a user of another account":   {0, []*orchv1.TeamMember{members[0], stranger}, http.StatusUnprocessableEntity},
		"members up to the bound":     {maxMembers - 2, members, http.StatusOK},
		"one member beyond the bound": {maxMembers - 1, members, http.StatusConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world{w.Service, t}
			team := w.team(c.before)
			require.Equal(t, c.status, w.add(team, c.added...))
			want := c.before
			if c.status == http.StatusOK {
				want += len(c.added)
			}
			require.Len(t, w.actors(team), want)
		})
	}
}
