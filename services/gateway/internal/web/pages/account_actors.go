package pages

import (
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// actorKind is the kind of an actor, as the values of forms name it.
type actorKind string

const (
	userActor    actorKind = "user"
	serviceActor actorKind = "service_account"
	teamActor    actorKind = "team"
)

// actors are the names of an account's users, service accounts and teams, by id. A reader who may not list a kind sees ids.
type actors struct {
	names   map[string]string
	choices []choice
}

// actorCalls are the rpcs of readActors.
var actorCalls = []string{
	orchv1.UserService_ReadAccountMemberships_FullMethodName, orchv1.ServiceAccountService_ReadServiceAccounts_FullMethodName,
	orchv1.TeamService_ReadTeams_FullMethodName,
}

// readActors reads the actors of the account, with or without teams.
func readActors(r *page.Request, withTeams bool) actors {
	members := readMembers(r)
	services := apicall.New[*orchv1.ServiceAccountList](orchv1.ServiceAccountService_ReadServiceAccounts_FullMethodName, inAccount(r, apicall.JSON{}))
	teams := apicall.New[*orchv1.TeamList](orchv1.TeamService_ReadTeams_FullMethodName, inAccount(r, apicall.JSON{}))
	calls := []apicall.Call{members, services}
	if withTeams {
		calls = append(calls, teams)
	}
	_ = r.Call(calls...) // Without names the page shows ids.
	all := actors{names: map[string]string{}}
	for _, m := range members.Result().GetMemberships() {
		all.add(userActor, m.GetUserId(), memberName(m))
	}
	for _, a := range services.Result().GetServiceAccounts() {
		all.add(serviceActor, a.GetId(), a.GetName())
	}
	for _, t := range teams.Result().GetTeams() {
		all.add(teamActor, t.GetId(), t.GetName())
	}
	return all
}

func (a *actors) add(kind actorKind, id, name string) {
	a.names[id] = show.Line(name, 60)
	a.choices = append(a.choices, choice{Value: string(kind) + " " + id, Title: show.Line(name, 60) + " (" + strings.ReplaceAll(string(kind), "_", " ") + ")"})
}

// name returns the name of an actor, or the id without one.
func (a actors) name(id string) string {
	if name := a.names[id]; name != "" {
		return name
	}
	return id
}

// field is the choice of an actor.
func (a actors) field() field {
	f := selectField("actor", "Who", "", a.choices)
	f.Required = true
	return f
}

// chosenActor reads the field of an actor.
func chosenActor(r *page.Request) (kind actorKind, id string) {
	kindName, id, _ := strings.Cut(r.Field("actor"), " ")
	return actorKind(kindName), id
}
