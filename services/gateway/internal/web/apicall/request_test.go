package apicall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestCurl(t *testing.T) {
	t.Parallel()
	read := apicall.Request{Method: "GET", Path: "/flows/1"}
	filter := apicall.Request{Method: "POST", Path: "/flows/filter", Body: `{"q": "it's"}`}
	for want, got := range map[string]string{
		`curl 'http://o/api/flows/1'`:                                                     read.Curl("http://o/api", ""),
		`curl 'http://o/api/flows/1' -u "$ORCH_API_KEY"`:                                  read.Curl("http://o/api", "password"),
		`curl 'http://o/api/flows/1' -H "Authorization: Bearer $ORCH_API_KEY"`:            read.Curl("http://o/api", "key"),
		`curl -X DELETE 'http://o/api/flows/1'`:                                           apicall.Request{Method: "DELETE", Path: "/flows/1"}.Curl("http://o/api", ""),
		`curl -X POST 'http://o/api/x'`:                                                   apicall.Request{Method: "POST", Path: "/x"}.Curl("http://o/api", ""),
		`curl 'h/flows/filter' -H 'Content-Type: application/json' -d '{"q": "it'\''s"}'`: filter.Curl("h", ""),
	} {
		require.Equal(t, want, got)
	}
}

func TestCallAsJSON(t *testing.T) {
	t.Parallel()
	require.Equal(t, "{\n  \"a\": \"<b>\"\n}", apicall.Request{Body: `{"a":"<b>"}`}.JSON())
	require.Empty(t, apicall.Request{}.JSON())
	require.Equal(t, "[1", apicall.Request{Body: "[1"}.JSON(), "a cut body stays as it is")
}
