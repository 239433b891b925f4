package gateway_test

import (
	"encoding/base64"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/gateway"
	"github.com/orch-project/orch/services/gateway/internal/authn"
)

func TestHostsAndOriginsWithoutAuthentication(t *testing.T) {
	t.Parallel()
	hooks := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	s := start(t, gateway.Deps{Hooks: hooks}, func(c *gateway.Config) {
		c.AllowedHosts = []string{"orch.lan"}
		c.PublicURL = "https://orch.example.com"
	})
	own := s.Addr().String()
	for name, test := range map[string]struct {
		path    string
		headers []string
		status  int
	}{
		"loopback":               {"/api/health", nil, 200},
		"localhost":              {"/api/health", []string{"Host: localhost:4200"}, 200},
		"IPv6":                   {"/api/health", []string{"Host: [::1]:4200"}, 200},
		"configured":             {"/api/health", []string{"Host: ORCH.lan:80"}, 200},
		"public URL":             {"/api/health", []string{"Host: orch.example.com"}, 200},
		"foreign":                {"/api/health", []string{"Host: evil.example.com"}, 403},
		"foreign, unknown path":  {"/api/nowhere", []string{"Host: evil.example.com"}, 403},
		"foreign, page":          {"/", []string{"Host: evil.example.com"}, 403},
		"looks like loopback":    {"/api/health", []string{"Host: 127.0.0.1.evil.example.com"}, 403},
		"other address":          {"/api/health", []string{"Host: 192.168.0.7"}, 403},
		"own origin":             {"/api/health", []string{"Origin: http://" + own}, 200},
		"public origin":          {"/api/health", []string{"Origin: https://orch.example.com"}, 200},
		"public origin, no TLS":  {"/api/health", []string{"Origin: http://orch.example.com"}, 403},
		"foreign origin":         {"/api/health", []string{"Origin: https://evil.example.com"}, 403},
		"another port":           {"/api/health", []string{"Origin: http://127.0.0.1:1"}, 403},
		"null origin":            {"/api/health", []string{"Origin: null"}, 403},
		"untrusted proxy":        {"/api/health", []string{"Host: evil.example.com", "X-Forwarded-Host: localhost"}, 403},
		"webhooks have a secret": {"/hooks/x", []string{"Host: tunnel.example.com", "Origin: https://evil.example.com"}, 204},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.do(t, "GET", test.path, "", test.headers...)
			require.Equal(t, test.status, got.status, got.body)
			require.Empty(t, got.header.Get("Access-Control-Allow-Origin"))
		})
	}
}

// A page that has made its name point here can set any header, and some proxies append to what there is.
func TestAHostThatAClientMadeUp(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{}, func(c *gateway.Config) { c.TrustedProxies = []string{"127.0.0.1", "10.0.0.0/8"} })
	for status, headers := range map[int][][]string{
		http.StatusOK: {
			{"X-Forwarded-Host: localhost"},
			{"X-Forwarded-Host: evil.example.com, localhost"},
			{"X-Forwarded-Host: localhost, inner", "X-Forwarded-For: 192.0.2.1, 10.0.0.1"},
		},
		http.StatusForbidden: {
			{"X-Forwarded-Host: evil.example.com"},
			{"X-Forwarded-Host: localhost, evil.example.com"},
			{"X-Forwarded-Host: localhost", "X-Forwarded-Host: evil.example.com"},
			{"X-Forwarded-Host: localhost, evil.example.com, inner", "X-Forwarded-For: 10.0.0.9, 192.0.2.1, 10.0.0.1"},
		},
	} {
		for _, h := range headers {
			require.Equal(t, status, s.do(t, "GET", "/api/health", "", h...).status, h)
		}
	}
}

// A page whose name was rebound to the address of the proxy names any host in X-Forwarded-Host, but its browser sends its own name.
func TestAReboundPageReadsNothingBehindATrustedProxy(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{}, func(c *gateway.Config) {
		c.TrustedProxies, c.PublicURL = []string{"127.0.0.1"}, "https://orch.example.com"
	})
	for host, status := range map[string]int{
		"evil.example:4200": 403, "localhost.evil.example": 403,
		"127.0.0.1:4200": 200, "localhost": 200, "[::1]:4200": 200, "10.0.0.7:4200": 200, "gateway:4200": 200, "orch.example.com": 200,
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"/api/health", "/"} {
				require.Equal(t, status, s.do(t, http.MethodGet, path, "", "Host: "+host, "X-Forwarded-Host: localhost").status, path)
			}
		})
	}
}

func TestResponsesOfTheAPIHaveHeadersForBrowsers(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{}, func(c *gateway.Config) { c.PublicURL = "https://orch.example.com" })
	for _, path := range []string{"/api/health", "/api/nowhere", "/api/openapi.json", "/", "/hooks/nobody"} {
		header := s.do(t, http.MethodGet, path, "").header
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), path)
		require.Equal(t, "max-age=31536000", header.Get("Strict-Transport-Security"), path)
	}
	require.Equal(t, "no-store", s.do(t, http.MethodGet, "/api/health", "").header.Get("Cache-Control"))
	require.Equal(t, "no-cache", s.do(t, http.MethodGet, "/api/openapi.json", "").header.Get("Cache-Control"), "browsers keep it by its ETag")
	plain := start(t, gateway.Deps{}, func(*gateway.Config) {})
	require.Empty(t, plain.do(t, http.MethodGet, "/api/health", "").header.Get("Strict-Transport-Security"), "the server is reached by http")
}

func TestCORS(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{}, func(c *gateway.Config) {
		c.CORSOrigins = []string{"https://ui.example.com"}
		c.AuthBasic = "ada:secret"
	})
	const origin = "https://ui.example.com"
	preflight := s.do(t, "OPTIONS", "/api/flows/", "", "Origin: "+origin, "Access-Control-Request-Method: POST",
		"Access-Control-Request-Headers: content-type,x-prefect-ui")
	require.Equal(t, 204, preflight.status)
	require.Equal(t, "content-type,x-prefect-ui", preflight.header.Get("Access-Control-Allow-Headers"), "clients name headers of their own")
	require.Equal(t, origin, preflight.header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, preflight.header.Get("Access-Control-Allow-Methods"), "PATCH")

	got := s.do(t, "GET", "/api/version", "", "Origin: "+origin)
	require.Equal(t, 401, got.status)
	require.Equal(t, origin, got.header.Get("Access-Control-Allow-Origin"), "the page must be able to read that it is unauthorized")

	require.Equal(t, 403, s.do(t, "OPTIONS", "/api/flows/", "", "Origin: https://evil.example.com", "Access-Control-Request-Method: POST").status)

	all := start(t, gateway.Deps{}, func(c *gateway.Config) { c.CORSOrigins, c.Insecure = []string{"*"}, true })
	got = all.do(t, "GET", "/api/version", "", "Origin: https://anybody.example.com")
	require.Equal(t, 200, got.status)
	require.Equal(t, "*", got.header.Get("Access-Control-Allow-Origin"))
	require.Empty(t, got.header.Get("Access-Control-Allow-Credentials"))
}

func TestBasicAuthentication(t *testing.T) {
	t.Parallel()
	hooks := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	s := start(t, gateway.Deps{Hooks: hooks}, func(c *gateway.Config) { c.AuthBasic = "ada:secret" })
	right := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ada:secret"))
	wrong := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ada:guess"))
	for _, test := range []struct {
		method, path  string
		without, with int
	}{
		{"GET", "/api/health", 200, 200},
		{"GET", "/api/v1/ready/", 200, 200},
		{"HEAD", "/api/health", 200, 200},
		{"POST", "/api/health", 401, 405},
		{"GET", "/api/version", 401, 200},
		{"GET", "/api/hello", 401, 200},
		{"GET", "/api/admin/version", 401, 200},
		{"POST", "/api/flows/count", 401, 200},
		{"GET", "/api/nowhere", 401, 404},
		{"GET", "/api/v2/health", 401, 404},
		{"GET", "/nowhere", 401, 404},
		{"GET", "/", 401, 200},
		{"GET", "/docs/", 401, 200},
		{"GET", "/api/openapi.json", 401, 200},
		{"POST", "/hooks/x", 204, 204},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.with, s.do(t, test.method, test.path, "", right).status)
			for _, headers := range [][]string{nil, {wrong}, {"Authorization: Bearer x"}} {
				got := s.do(t, test.method, test.path, "", headers...)
				require.Equal(t, test.without, got.status)
				if got.status == 401 && test.method != "HEAD" {
					require.Equal(t, `{"exception_message":"Unauthorized"}`, got.body)
					require.Contains(t, got.header.Get("WWW-Authenticate"), "Basic")
				}
			}
		})
	}
	require.Equal(t, 200, s.do(t, "GET", "/api/version", "", right, "Host: any.example.com").status, "who knows the password may use any name")
	require.Equal(t, 403, s.do(t, "GET", "/api/version", "", right, "Origin: https://evil.example.com").status, "a browser sends the password for any page")
}

func TestUnsafeSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*gateway.Config)
		want   string
	}{
		"all interfaces":                  {func(c *gateway.Config) { c.Listen = ":0" }, authn.ErrExposed.Error()},
		"unspecified":                     {func(c *gateway.Config) { c.Listen = "0.0.0.0:0" }, authn.ErrExposed.Error()},
		"published":                       {func(c *gateway.Config) { c.Published = "0.0.0.0:4200" }, authn.ErrExposed.Error()},
		"all origins":                     {func(c *gateway.Config) { c.CORSOrigins = []string{"https://ui.example.com", "*"} }, "ORCH_CORS_ORIGINS"},
		"no port":                         {func(c *gateway.Config) { c.Listen = "127.0.0.1" }, "listen address"},
		"no password":                     {func(c *gateway.Config) { c.AuthBasic = "ada" }, "ORCH_AUTH_BASIC"},
		"short password":                  {func(c *gateway.Config) { c.Listen, c.AuthBasic = "0.0.0.0:0", "ada:fifteen-letter" }, "ORCH_AUTH_BASIC"},
		"published with a short password": {func(c *gateway.Config) { c.Published, c.AuthBasic = "10.0.0.1:4200", "ada:short" }, "ORCH_AUTH_BASIC"},
		"public URL":                      {func(c *gateway.Config) { c.PublicURL = "orch.example.com" }, "public URL"},
		"hooks URL":                       {func(c *gateway.Config) { c.HooksURL = "ftp://x" }, "hooks URL"},
		"proxies":                         {func(c *gateway.Config) { c.TrustedProxies = []string{"10.0.0.0/33"} }, "10.0.0.0/33"},
		"hooks address":                   {func(c *gateway.Config) { c.HooksAddr = "nowhere" }, "nowhere"},
		"slow":                            {func(c *gateway.Config) { c.SlowRequest = -1 }, "ORCH_SLOW_REQUEST"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := gateway.New(settings(test.change), gateway.Deps{})
			require.ErrorContains(t, err, test.want)
		})
	}
}

// In a container every address is listened on, and what counts is where its host publishes them.
func TestAContainerIsJudgedByWhereItIsPublished(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{}, func(c *gateway.Config) { c.Listen, c.Published = "0.0.0.0:0", "127.0.0.1:4200" })
	_, port, err := net.SplitHostPort(s.Addr().String())
	require.NoError(t, err)
	s.url = "http://127.0.0.1:" + port
	require.Equal(t, 200, s.do(t, "GET", "/api/health", "").status)
	require.Equal(t, 403, s.do(t, "GET", "/api/health", "", "Host: 192.168.0.7:4200").status, "nobody was to reach it by that")
}

func TestInsecureAnswersToItsAddresses(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{}, func(c *gateway.Config) { c.Listen, c.Insecure = "0.0.0.0:0", true })
	_, port, err := net.SplitHostPort(s.Addr().String())
	require.NoError(t, err)
	s.url = "http://127.0.0.1:" + port
	require.Equal(t, 200, s.do(t, "GET", "/api/health", "", "Host: 192.168.0.7:4200").status)
	require.Equal(t, 403, s.do(t, "GET", "/api/health", "", "Host: evil.example.com").status)
}

func TestABusyPortIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	_, err := gateway.New(settings(func(c *gateway.Config) { c.Listen = s.Addr().String() }), gateway.Deps{})
	require.ErrorContains(t, err, "listen on "+s.Addr().String())
	require.ErrorContains(t, err, "ORCH_GATEWAY_LISTEN")
}
