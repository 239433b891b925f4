package access_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestEveryRouteStatesItsScope fails for a route without a declared scope, which anybody could call.
func TestEveryRouteStatesItsScope(t *testing.T) {
	t.Parallel()
	routes := 0
	for _, sd := range openapi.Services() {
		for i := range sd.Methods().Len() {
			md := sd.Methods().Get(i)
			rule, _ := proto.GetExtension(md.Options(), annotations.E_Http).(*annotations.HttpRule)
			if rule == nil {
				continue
			}
			routes++
			option := access.Option(md)
			if option.GetPublic() {
				require.Empty(t, option.GetScope(), "%s is public and needs no scope", md.FullName())
				continue
			}
			scope := option.GetScope()
			require.Regexp(t, "^(see|run|write|manage|take|administer)_[a-z_]+$", scope, "%s needs (api).scope", md.FullName())
			for _, guarded := range access.Guarded(md.Input()) {
				require.NotEqual(t, scope, guarded.Scope, "%s: the operation requires the scope of %s anyway", md.FullName(), guarded.Path)
				require.False(t, strings.HasPrefix(scope, "see_") && strings.HasPrefix(guarded.Scope, "see_"), "%s: everybody who looks has see_*", md.FullName())
				require.True(t, access.Scopes(option.GetRealm()).Has(guarded.Scope), guarded.Scope)
			}
			path := rule.GetGet() + rule.GetPost() + rule.GetPut() + rule.GetPatch() + rule.GetDelete()
			if option.GetRealm() != orchv1.Realm_REALM_SERVER { // The operator changes accounts without being a member of them.
				inAccount := strings.HasPrefix(path, "/accounts/{account_id}")
				require.Equal(t, inAccount, option.GetRealm() == orchv1.Realm_REALM_ACCOUNT, "%s: %s", md.FullName(), path)
			}
			for realm := range orchv1.Realm_name {
				if other := orchv1.Realm(realm); other != option.GetRealm() {
					require.False(t, access.Scopes(other).Has(scope), "%s: the scope %s is another realm's", md.FullName(), scope)
				}
			}
		}
	}
	require.Greater(t, routes, 100)
}

func TestRolesGrow(t *testing.T) {
	t.Parallel()
	role := func(id string) access.Set {
		found, ok := access.WorkspaceRole(id)
		require.True(t, ok)
		return found.Scopes
	}
	owner, developer, runner := role(access.WorkspaceOwner), role(access.WorkspaceDeveloper), role(access.WorkspaceRunner)
	viewer, worker := role(access.WorkspaceViewer), role(access.WorkspaceWorker)
	require.True(t, owner.Covers(developer) && developer.Covers(runner) && runner.Covers(viewer) && owner.Covers(worker))
	require.False(t, developer.Has("manage_workspace_access") || viewer.Covers(runner) || developer.Covers(owner))
	require.True(t, runner.Has("run_deployments") && worker.Has("manage_flow_runs") && !worker.Has("see_webhooks"))
	for who, may := range map[*access.Set]bool{&owner: true, &developer: true, &worker: true, &runner: false, &viewer: false} {
		require.Equal(t, may, who.Has("read_block_secrets"))
	}
	for who, may := range map[*access.Set]bool{&owner: true, &developer: true, &worker: false, &runner: false, &viewer: false} {
		require.Equal(t, may, who.Has("read_webhook_addresses"))
	}
	for scope := range viewer {
		require.True(t, strings.HasPrefix(scope, "see_"), scope)
	}
	all := access.AccountRoles()
	require.Equal(t, []string{"Owner", "Admin", "Member"}, []string{all[0].Name, all[1].Name, all[2].Name})
	require.True(t, all[0].Scopes.Covers(all[1].Scopes) && all[1].Scopes.Covers(all[2].Scopes) && !all[1].Scopes.Covers(all[0].Scopes))
	require.Equal(t, []string{"manage_profile", "see_profile"}, access.Scopes(orchv1.Realm_REALM_SELF).Sorted())
	require.Equal(t, []string{"administer_server"}, access.Scopes(orchv1.Realm_REALM_SERVER).Sorted())
}

func TestSets(t *testing.T) {
	t.Parallel()
	a, b := access.NewSet("x", "y"), access.NewSet("y")
	require.True(t, a.Covers(b) && !b.Covers(a) && a.Covers(nil))
	require.Equal(t, []string{"x", "y"}, access.Union(a, b).Sorted())
	require.Equal(t, []string{"y"}, access.Union(nil, b).Sorted())
	require.Equal(t, []string{"y"}, b.Sorted(), "a union changes neither side")

	manages, reads := access.NewSet("manage_webhooks"), access.NewSet("read_webhook_addresses")
	require.True(t, manages.Has("read_webhook_addresses") && manages.Covers(reads), "one scope includes the other")
	require.False(t, reads.Has("manage_webhooks") || reads.Covers(manages))
}

// TestGuardedFieldsAreFound covers a flag in the query and one in the body.
func TestGuardedFieldsAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request proto.Message
		want    bool
	}{
		{&orchv1.ReadBlockDocumentRequest{IncludeSecrets: true}, true},
		{&orchv1.ReadBlockDocumentRequest{}, false},
		{&orchv1.ReadBlockDocumentsRequest{Query: &orchv1.BlockDocumentQuery{IncludeSecrets: true}}, true},
		{&orchv1.ReadBlockDocumentsRequest{Query: &orchv1.BlockDocumentQuery{}}, false},
		{&orchv1.ReadBlockDocumentsRequest{}, false},
	} {
		t.Run(fmt.Sprint(c.request), func(t *testing.T) {
			m := c.request.ProtoReflect()
			found := access.Guarded(m.Descriptor())
			require.Len(t, found, 1)
			require.Equal(t, "read_block_secrets", found[0].Scope)
			require.Equal(t, c.want, found[0].Set(m))
		})
	}
	require.Empty(t, access.Guarded((&orchv1.ReadFlowRequest{}).ProtoReflect().Descriptor()))
}

func TestMaskedFieldsOfResponsesAreFound(t *testing.T) {
	t.Parallel()
	for _, response := range []proto.Message{&orchv1.Webhook{}, &orchv1.WebhookList{}} {
		require.Equal(t, access.NewSet("read_webhook_addresses"), access.Masked(response.ProtoReflect().Descriptor()))
	}
	require.Empty(t, access.Masked((&orchv1.FlowRunList{}).ProtoReflect().Descriptor()))
	require.True(t, access.Scopes(orchv1.Realm_REALM_UNSPECIFIED).Has("read_webhook_addresses"))
}
