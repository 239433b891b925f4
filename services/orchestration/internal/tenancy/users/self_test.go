package users

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestSelfIsTheCallerAlone(t *testing.T) {
	t.Parallel()
	user := uuid.New()
	for name, c := range map[string]struct {
		caller request.Caller
		id     string
		found  bool
	}{
		"the caller":                 {request.Caller{ID: user}, user.String(), true},
		"another user":               {request.Caller{ID: user}, uuid.NewString(), false},
		"a service account":          {request.Caller{ID: user, ServiceAccount: true}, user.String(), false},
		"no API keys":                {request.Caller{}, user.String(), true},
		"an id that is malformed":    {request.Caller{ID: user}, "no id", false},
		"a malformed id, no API key": {request.Caller{}, "no id", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info, id, err := self(requesttest.With(t, request.Info{Account: request.DefaultAccount, Workspace: uuid.New(), Caller: c.caller}), c.id)
			if !c.found {
				require.Equal(t, int32(http.StatusNotFound), rpc.HTTPError(err).GetStatus())
				return
			}
			require.NoError(t, err)
			require.Equal(t, user, id)
			require.Equal(t, request.DefaultAccount, info.Account)
		})
	}
}

func TestMeWithoutAPIKeysIsTheOwner(t *testing.T) {
	t.Parallel()
	user := uuid.New()
	require.Equal(t, user, me(request.Info{Caller: request.Caller{ID: user}}))
	require.Equal(t, tenancy.OwnerID, me(request.Info{}))
}
