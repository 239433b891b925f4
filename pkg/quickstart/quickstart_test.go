package quickstart_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/quickstart"
	"github.com/orch-project/orch/pkg/vocabulary"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const api = "http://o/api"

func TestEnvironmentFitsAuthentication(t *testing.T) {
	t.Parallel()
	account, workspace := uuid.MustParse("0e2d0a3c-31f1-4e58-9c3c-6b8f0f7f7d11"), uuid.MustParse("0e2d0a3c-31f1-4e58-9c3c-6b8f0f7f7d12")
	below := "PREFECT_CLOUD_API_URL=http://o/api PREFECT_API_URL=http://o/api/accounts/"
	for name, test := range map[string]struct {
		server quickstart.Server
		want   string
	}{
		"none":  {quickstart.Server{API: api}, "PREFECT_API_URL=http://o/api"},
		"basic": {quickstart.Server{API: api, Credential: quickstart.Password}, `PREFECT_CLOUD_API_URL=http://o/api PREFECT_API_URL=http://o/api PREFECT_API_KEY="$ORCH_API_KEY"`},
		"keys": {
			quickstart.Server{API: api, Credential: quickstart.Key, Account: account, Workspace: workspace},
			below + account.String() + "/workspaces/" + workspace.String() + ` PREFECT_API_KEY="$ORCH_API_KEY"`,
		},
		"the owner's key": {
			quickstart.Server{API: api, Credential: quickstart.Key, Secret: "onu_x"},
			below + "00000000-0000-8000-8000-00000000000a/workspaces/00000000-0000-8000-8000-000000000001 PREFECT_API_KEY=onu_x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, test.server.Environment())
			require.Contains(t, test.server.Flow(), "\n"+test.want+" python -c ")
			require.Equal(t, test.want+` prefect worker start --pool 'it'\''s'`, test.server.Worker("it's"))
		})
	}
}

func TestAdviceFitsVocabulary(t *testing.T) {
	t.Parallel()
	server := func(v vocabulary.Vocabulary) quickstart.Server { return quickstart.Server{API: api, Vocabulary: v} }
	require.True(t, server(vocabulary.Prefect).ServesPrefect())
	require.Empty(t, server(vocabulary.Prefect).Advice())
	require.True(t, server(vocabulary.Undecided).ServesPrefect())
	require.Contains(t, server(vocabulary.Undecided).Advice(), "first client that writes")
	require.False(t, server(vocabulary.Orch).ServesPrefect())
	require.Contains(t, server(vocabulary.Orch).Advice(), "orch vocabulary convert --to prefect")
}

func TestCurlCarriesTheCredential(t *testing.T) {
	t.Parallel()
	for credential, want := range map[quickstart.Credential]string{
		quickstart.None:     `curl -s http://o/api/flows/ -H 'Content-Type: application/json' -d '{}'`,
		quickstart.Password: `curl -s http://o/api/flows/ -u "$ORCH_API_KEY" -H 'Content-Type: application/json' -d '{}'`,
		quickstart.Key:      `curl -s http://o/api/flows/ -H "Authorization: Bearer ""$ORCH_API_KEY" -H 'Content-Type: application/json' -d '{}'`,
	} {
		require.Equal(t, want, quickstart.Server{API: api, Credential: credential}.Curl("/flows/", "{}"))
	}
}
