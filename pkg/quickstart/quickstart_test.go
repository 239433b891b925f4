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

func TestCurl(t *testing.T) {
	t.Parallel()
	server := func(credential quickstart.Credential) quickstart.Server {
		return quickstart.Server{API: api, Credential: credential}
	}
	for want, got := range map[string]string{
		`curl 'http://o/api/flows/1'`:                                                                server(quickstart.None).Curl("GET", "/flows/1", ""),
		`curl 'http://o/api/flows/1' -u "$ORCH_API_KEY"`:                                             server(quickstart.Password).Curl("GET", "/flows/1", ""),
		`curl 'http://o/api/flows/1' -H "Authorization: Bearer $ORCH_API_KEY"`:                       server(quickstart.Key).Curl("GET", "/flows/1", ""),
		`curl -X DELETE 'http://o/api/flows/1'`:                                                      server(quickstart.None).Curl("DELETE", "/flows/1", ""),
		`curl -X POST 'http://o/api/x'`:                                                              server(quickstart.None).Curl("POST", "/x", ""),
		`curl 'http://o/api/flows/filter' -H 'Content-Type: application/json' -d '{"q": "it'\''s"}'`: server(quickstart.None).Curl("POST", "/flows/filter", `{"q": "it's"}`),
		`curl -X PATCH 'http://o/api/x' -u "$(cat 'key')" -H 'Content-Type: application/json' -d '{}'`: quickstart.Server{
			API: api, Credential: quickstart.Password, Secret: "$(cat 'key')",
		}.Curl("PATCH", "/x", "{}"),
	} {
		require.Equal(t, want, got)
	}
}

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
			below + "00000000-0000-8000-8000-00000000000a/workspaces/00000000-0000-8000-8000-000000000001 PREFECT_API_KEY=\"onu_x\"",
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
