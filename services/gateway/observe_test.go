package gateway_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/gateway"
)

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	require.Equal(t, "abc-1:2/3", s.do(t, "GET", "/api/health", "", "X-Request-ID: abc-1:2/3").header.Get("X-Request-Id"))
	for _, bad := range []string{"", "has blank", strings.Repeat("x", 129), `a"b`, "ü"} {
		got := s.do(t, "GET", "/api/health", "", "X-Request-ID: "+bad).header.Get("X-Request-Id")
		require.Len(t, got, 36, "a new one instead of %q", bad)
	}
}

// TestNoSecretIsLogged sends secrets wherever a client may, with the log at its most talkative.
func TestNoSecretIsLogged(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{}, func(c *gateway.Config) { c.AuthBasic = "ada:canary" })
	basic := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ada:canary"))
	wrong := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ada:canary2"))
	require.Equal(t, 503, s.do(t, "POST", "/hooks/canary", "canary", "X-Signature: canary").status, "no hooks service is there")
	for _, headers := range [][]string{{basic}, {wrong}} {
		s.do(t, "GET", "/api/flows/name/canary?canary=canary", "", headers...)
		s.do(t, "POST", "/api/flows/", `{"name":"canary","canary":1}`, headers...)
		s.do(t, "POST", "/api/flows/", `{"canary`, headers...)
		s.do(t, "GET", "/canary", "", headers...)
		s.do(t, "GET", "/api/canary", "", append(headers, "Cookie: canary")...)
	}
	s.domain.fail(rpc.Detail(500, "on purpose"))
	s.do(t, "GET", "/api/flows/name/canary", "", basic)
	logs := s.logs.String()
	require.Contains(t, logs, `"route":"/hooks/{slug}"`)
	require.Contains(t, logs, `"route":"/flows/name/{name}"`)
	require.NotContains(t, logs, "canary")
	require.NotContains(t, logs, strings.TrimPrefix(basic, "Authorization: Basic "))
}

func TestOnlySlowAndFailedRequestsAreLoggedAtInfo(t *testing.T) {
	t.Parallel()
	levels := func(s *server) (levels []string) {
		for _, line := range strings.Split(strings.TrimSpace(s.logs.String()), "\n") {
			var entry map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &entry))
			if entry["msg"] == "request" {
				levels = append(levels, entry["level"].(string))
			}
		}
		return levels
	}
	s := start(t, gateway.Deps{})
	s.do(t, "GET", "/api/health", "")
	s.do(t, "GET", "/api/nowhere", "")
	s.domain.fail(rpc.Detail(503, "on purpose"))
	s.do(t, "GET", "/api/flows/"+flowID, "")
	s.do(t, "GET", "/api/health", "") // When it is answered, the one before has been logged.
	require.Equal(t, []string{"DEBUG", "DEBUG", "INFO"}, levels(s)[:3])

	slow := start(t, gateway.Deps{}, func(c *gateway.Config) { c.SlowRequest = time.Nanosecond })
	slow.do(t, "GET", "/api/health", "")
	slow.do(t, "GET", "/api/health", "")
	require.Equal(t, "INFO", levels(slow)[0])
}

func TestMetricsNameRoutesNotPaths(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := start(t, gateway.Deps{Registry: registry})
	s.do(t, "GET", "/api/flows/"+flowID, "")
	s.do(t, "BREW", "/api/nowhere", "")
	s.do(t, "GET", "/api/health", "")
	families, err := registry.Gather()
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, family := range families {
		if family.GetName() != "orch_http_request_duration_seconds" {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			seen[strings.Join(labels, " ")] = true
		}
	}
	require.Contains(t, seen, "code=200 method=GET route=/flows/{id}")
	require.Contains(t, seen, "code=404 method=OTHER route=unmatched")
}

// panicking is a service whose every call panics.
type panicking struct{}

func (panicking) Call(context.Context, string, proto.Message) (proto.Message, rpc.Reply, error) {
	panic("on purpose")
}

func TestAPanicIsA500(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{Caller: panicking{}})
	got := s.do(t, "GET", "/api/flows/"+flowID, "")
	require.Equal(t, http.StatusInternalServerError, got.status)
	require.Equal(t, `{"exception_message":"Internal Server Error"}`, got.body)
	require.Equal(t, 200, s.do(t, "GET", "/api/health", "").status)
	require.Contains(t, s.logs.String(), "a request panicked")
}

func TestTheLogNamesForeignClientsOnce(t *testing.T) {
	t.Parallel()
	agent := "User-Agent: " + vocabulary.Prefect.String() + "/3.8.8 (API 0.8.4)"
	s := start(t, gateway.Deps{})
	s.do(t, "GET", "/api/health", "")
	require.NotContains(t, s.logs.String(), "--vocabulary")
	s.do(t, "GET", "/api/health", "", agent)
	s.do(t, "GET", "/api/health", "", agent)
	require.Equal(t, 1, strings.Count(s.logs.String(), "--vocabulary"))

	other := start(t, gateway.Deps{}, func(c *gateway.Config) { c.Vocabulary = vocabulary.Prefect })
	other.do(t, "GET", "/api/health", "", agent)
	require.NotContains(t, other.logs.String(), "--vocabulary")
}
