package gateway_test

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/services/gateway"
)

const hostedForm = "/accounts/00000000-0000-8000-8000-00000000000a/workspaces/00000000-0000-8000-8000-000000000001"

// TestAddressesAreThoseThatTheClientUsed guards next_page and the address of webhooks.
func TestAddressesAreThoseThatTheClientUsed(t *testing.T) {
	t.Parallel()
	proxied := []string{
		"Host: 127.0.0.1", "X-Forwarded-For: 127.0.0.1", // Two proxies: what stands before theirs is the client's.
		"X-Forwarded-Host: evil.example.com", "X-Forwarded-Host: localhost:81, inner", "X-Forwarded-Proto: gopher, https, http",
	}
	for name, test := range map[string]struct {
		change        func(*gateway.Config)
		prefix        string
		headers       []string
		public, hooks string
	}{
		"host":           {nil, "/api", []string{"Host: localhost:4200"}, "http://localhost:4200/api", "http://localhost:4200/hooks"},
		"version":        {nil, "/api/v1", []string{"Host: localhost:4200"}, "http://localhost:4200/api/v1", "http://localhost:4200/hooks"},
		"hosted":         {nil, "/api" + hostedForm, []string{"Host: localhost"}, "http://localhost/api" + hostedForm, "http://localhost/hooks"},
		"hosted version": {nil, "/api/v1" + hostedForm, []string{"Host: localhost"}, "http://localhost/api/v1" + hostedForm, "http://localhost/hooks"},
		"configured": {
			func(c *gateway.Config) { c.PublicURL = "https://orch.example.com/" }, "/api/v1", nil,
			"https://orch.example.com/api/v1", "https://orch.example.com/hooks",
		},
		"configured with the API's path": {
			func(c *gateway.Config) { c.PublicURL = "https://orch.example.com/api" }, "/api", nil,
			"https://orch.example.com/api", "https://orch.example.com/hooks",
		},
		"hooks elsewhere": {
			func(c *gateway.Config) { c.HooksURL = "https://in.example.com/" }, "/api",
			[]string{"Host: localhost"},
			"http://localhost/api", "https://in.example.com",
		},
		"trusted proxy": {
			func(c *gateway.Config) { c.TrustedProxies = []string{"127.0.0.0/8"} }, "/api", proxied,
			"https://localhost:81/api", "https://localhost:81/hooks",
		},
		"other proxy": {
			func(c *gateway.Config) { c.TrustedProxies = []string{"10.0.0.1"} }, "/api", proxied,
			"http://127.0.0.1/api", "http://127.0.0.1/hooks",
		},
		"a proxy's nonsense": {
			func(c *gateway.Config) { c.TrustedProxies = []string{"127.0.0.1"} }, "/api",
			[]string{"Host: localhost", "X-Forwarded-Host: a b", "X-Forwarded-Proto: gopher"},
			"http://localhost/api", "http://localhost/hooks",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := test.change
			if change == nil {
				change = func(*gateway.Config) {}
			}
			s := start(t, gateway.Deps{}, change)
			headers := append([]string{"User-Agent: umlaut/ü", "X-Request-Id: from-client-7"}, test.headers...)
			got := s.do(t, "GET", test.prefix+"/flows/"+flowID, "", headers...)
			require.Equal(t, 200, got.status, got.body)
			_, info := s.domain.seen()
			require.Regexp(t, `^127\.0\.0\.1:\d+$`, info.Connection)
			info.Connection = ""
			require.Equal(t, request.Info{
				Account: request.DefaultAccount, Workspace: request.DefaultWorkspace,
				PublicURL: test.public, HooksURL: test.hooks, UserAgent: "umlaut/?", ID: "from-client-7",
				Peer: netip.MustParseAddr("127.0.0.1"), Caller: request.Caller{Unauthenticated: true},
			}, info)
		})
	}
}

func TestAutomationsSayWhoTheyAre(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	id := "01890000-0000-7000-8000-00000000000a"
	mine := request.Automation{ID: uuid.MustParse(id), Name: "wäscht nachts"}
	name := base64.StdEncoding.EncodeToString([]byte(mine.Name))
	for _, test := range []struct {
		headers []string
		want    request.Automation
	}{
		{[]string{"Prefect-Automation-ID: " + id, "Prefect-Automation-Name: " + name}, mine},
		{[]string{"Orch-Automation-ID: " + id, "Orch-Automation-Name: " + name}, mine},
		{[]string{"Prefect-Automation-ID: " + id}, request.Automation{}},
		{[]string{"Prefect-Automation-ID: x", "Prefect-Automation-Name: " + name}, request.Automation{}},
		{[]string{"Prefect-Automation-ID: " + id, "Prefect-Automation-Name: not base64!"}, request.Automation{}},
		{[]string{"Prefect-Automation-ID: " + id, "Prefect-Automation-Name: /w=="}, request.Automation{}},
		{nil, request.Automation{}},
	} {
		t.Run(fmt.Sprint(test.headers), func(t *testing.T) {
			require.Equal(t, 200, s.do(t, "GET", "/api/flows/"+flowID, "", test.headers...).status)
			_, info := s.domain.seen()
			require.Equal(t, test.want, info.Automation, "%v", test.headers)
		})
	}
}

// TestClientsCannotBindRequests guards that metadata is the gateway's alone to write.
func TestClientsCannotBindRequests(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	s.do(t, "GET", "/api/flows/"+flowID, "", "Orch-Workspace: 00000000-0000-8000-8000-000000000002", "Grpc-Metadata-Orch-Workspace: x")
	_, info := s.domain.seen()
	require.Equal(t, request.DefaultWorkspace, info.Workspace)
}
