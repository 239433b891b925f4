package authz

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/authn"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestNeedOfCalls(t *testing.T) {
	t.Parallel()
	account, workspace := uuid.New(), uuid.New()
	inWorkspace := address.WorkspacePath{Account: account, Workspace: workspace}
	op := func(realm orchv1.Realm) *transcode.Operation {
		return &transcode.Operation{Realm: realm, Scope: "read"}
	}
	inAccount := map[string]string{"account_id": account.String()}
	tests := map[string]struct {
		op   *transcode.Operation
		path address.WorkspacePath
		vars map[string]string
		want authn.Need
		err  error
	}{
		"no operation without ids": {want: authn.Need{Account: request.DefaultAccount, Workspace: request.DefaultWorkspace}},
		"no operation in a workspace": {
			path: inWorkspace, want: authn.Need{Account: account, Workspace: workspace, Named: true},
		},
		"an operation of a workspace": {
			op: op(orchv1.Realm_REALM_UNSPECIFIED), path: inWorkspace,
			want: authn.Need{Account: account, Workspace: workspace, Named: true, Scope: "read"},
		},
		"an operation of an account": {
			op: op(orchv1.Realm_REALM_ACCOUNT), vars: inAccount,
			want: authn.Need{Account: account, Named: true, Realm: orchv1.Realm_REALM_ACCOUNT, Scope: "read"},
		},
		"an operation of an account below a workspace": {op: op(orchv1.Realm_REALM_ACCOUNT), path: inWorkspace, vars: inAccount, err: errNotFound},
		"an operation of an account without its id": {
			op: op(orchv1.Realm_REALM_ACCOUNT), vars: map[string]string{"account_id": "none"}, err: errNotFound,
		},
		"an operation of the caller": {
			op:   op(orchv1.Realm_REALM_SELF),
			want: authn.Need{Account: request.DefaultAccount, Realm: orchv1.Realm_REALM_SELF, Scope: "read"},
		},
		"an operation of the server below a workspace": {op: op(orchv1.Realm_REALM_SERVER), path: inWorkspace, err: errNotFound},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need, err := needOf(test.op, test.path, test.vars)
			require.ErrorIs(t, err, test.err)
			if test.err == nil {
				require.Equal(t, test.want, need)
			}
		})
	}
}

func TestCallsOfPagesHaveThePathOfTheirOperation(t *testing.T) {
	t.Parallel()
	path := address.WorkspacePath{Prefix: "/api/accounts/a/workspaces/w", Account: uuid.New(), Workspace: uuid.New()}
	page := transcode.RequestScope{Path: path, Page: true}
	require.Equal(t, path, page.PathOf(&transcode.Operation{}))
	require.Equal(t, address.WorkspacePath{Prefix: "/api"}, page.PathOf(&transcode.Operation{Realm: orchv1.Realm_REALM_ACCOUNT}))
	rest := transcode.RequestScope{Path: path}
	require.Equal(t, path, rest.PathOf(&transcode.Operation{Realm: orchv1.Realm_REALM_ACCOUNT}))
}

func TestPrintableTexts(t *testing.T) {
	t.Parallel()
	require.Equal(t, "prefect/3.6.1", printable("prefect/3.6.1"))
	require.Equal(t, "a?b?", printable("a\nb\x7f"))
	require.Len(t, printable(string(make([]byte, 5000))), 1024)
}
