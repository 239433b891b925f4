package roles

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/access"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestCheck(t *testing.T) {
	t.Parallel()
	builtIn, unknown := access.WorkspaceViewer, "11111111-1111-4111-8111-111111111111"
	for name, c := range map[string]struct {
		role  *orchv1.WorkspaceRoleWrite
		valid bool
	}{
		"no scopes":               {&orchv1.WorkspaceRoleWrite{}, true},
		"scopes":                  {&orchv1.WorkspaceRoleWrite{Scopes: []string{"see_flows", "run_flows"}}, true},
		"inherited":               {&orchv1.WorkspaceRoleWrite{InheritedRoleId: &builtIn}, true},
		"inherited custom role":   {&orchv1.WorkspaceRoleWrite{InheritedRoleId: &unknown}, false},
		"empty scope":             {&orchv1.WorkspaceRoleWrite{Scopes: []string{"see_flows", ""}}, false},
		"scope with a capital":    {&orchv1.WorkspaceRoleWrite{Scopes: []string{"See_flows"}}, false},
		"scope with a wild card":  {&orchv1.WorkspaceRoleWrite{Scopes: []string{"see_*"}}, false},
		"scope with a line break": {&orchv1.WorkspaceRoleWrite{Scopes: []string{"see_flows\n"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := check(c.role)
			if c.valid {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			require.EqualValues(t, http.StatusUnprocessableEntity, rpc.HTTPError(err).GetStatus())
		})
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		filter *orchv1.RoleFilter
		want   bool
	}{
		"no filter":     {nil, true},
		"its id":        {&orchv1.RoleFilter{Id: &orchv1.AnyUuidFilter{Any_: &orchv1.UuidList{Values: []string{"other", "id"}}}}, true},
		"another id":    {&orchv1.RoleFilter{Id: &orchv1.AnyUuidFilter{Any_: &orchv1.UuidList{Values: []string{"other"}}}}, false},
		"no id at all":  {&orchv1.RoleFilter{Id: &orchv1.AnyUuidFilter{Any_: &orchv1.UuidList{}}}, false},
		"null as an id": {&orchv1.RoleFilter{Id: &orchv1.AnyUuidFilter{}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, matches(c.filter, "id", "name"))
		})
	}
}
