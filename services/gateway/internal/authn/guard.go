package authn

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/address"
)

// Options are the dependencies and settings of a Guard.
type Options struct {
	// Basic is the one user and password; nil disables basic authentication.
	Basic *auth.Basic
	// Keys requires API keys, which are checked once the operation is known.
	Keys bool
	// Insecure permits requests from other machines without authentication. The server's own IP addresses then count as
	// its own hosts; other host names do not.
	Insecure bool
	// AllowedHosts are host names in addition to loopback and the configured URLs; "*" allows all.
	AllowedHosts []string
	// Origins are the web origins that may use the API from a browser; "*" allows all.
	Origins []string
	// Resolver resolves the server's addresses.
	Resolver *address.Resolver
}

// Guard checks the host, origin and credentials of requests.
type Guard struct {
	opts    Options
	hosts   map[string]bool
	anyHost bool
	origins map[string]bool
}

// New returns a guard.
func New(opts Options) *Guard {
	g := &Guard{opts: opts, hosts: map[string]bool{}, origins: map[string]bool{}}
	for _, host := range append(slices.Clone(opts.AllowedHosts), opts.Resolver.Configured()...) {
		if host = clientaddr.Hostname(strings.TrimSpace(host)); host != "" {
			g.anyHost = g.anyHost || host == "*"
			g.hosts[host] = true
		}
	}
	for _, origin := range opts.Origins {
		g.origins[strings.TrimRight(strings.ToLower(strings.TrimSpace(origin)), "/")] = true
	}
	return g
}

// CheckHostAndOrigin checks the host and origin of a request, not its credentials. Its error is the response.
func (g *Guard) CheckHostAndOrigin(r *http.Request) error {
	if g.opts.Basic == nil && !g.opts.Keys && (!g.ownHost(g.opts.Resolver.Host(r)) || !g.proxyHost(r.Host)) {
		return rpc.Detail(http.StatusForbidden, "This server does not answer to that Host; ORCH_ALLOWED_HOSTS or ORCH_PUBLIC_URL can name it.")
	}
	if origin := r.Header.Get("Origin"); origin != "" && !g.ownOrigin(r, origin) && !g.allowedOrigin(origin) {
		return rpc.Detail(http.StatusForbidden, "This server does not answer to pages of that Origin; ORCH_CORS_ORIGINS can name it.")
	}
	return nil
}

// Credentials checks the credentials of a request. Its error is the response.
func (g *Guard) Credentials(r *http.Request) error {
	if g.opts.Keys {
		return errNoKey // Key authentication happens in Keys; without it nobody gets in.
	}
	if g.opts.Basic == nil || g.opts.Basic.Allows(r.Header) {
		return nil
	}
	return rpc.Error(&orchv1.HttpError{
		Status:  http.StatusUnauthorized,
		Form:    &orchv1.HttpError_ExceptionMessage{ExceptionMessage: "Unauthorized"},
		Headers: map[string]string{"WWW-Authenticate": `Basic realm="Orch", charset="UTF-8"`},
	})
}

func (g *Guard) ownHost(host string) bool {
	name := clientaddr.Hostname(host)
	if g.anyHost || g.hosts[name] || clientaddr.Loopback(name) {
		return true
	}
	if !g.opts.Insecure {
		return false
	}
	_, err := netip.ParseAddr(name) // An IP address cannot be rebound by DNS as a name can.
	return err == nil
}

// proxyHost reports whether a browser cannot have been led to the connection's host by DNS, or the host is the server's own. Behind a
// trusted proxy it is the name by which the proxy reaches the server: an IP address, or a name without dots. X-Forwarded-Host alone
// proves nothing, because a page can send it.
func (g *Guard) proxyHost(host string) bool {
	name := clientaddr.Hostname(host)
	if !strings.Contains(name, ".") || g.ownHost(host) {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}

// ownOrigin reports whether a page comes from this server. It ignores the scheme, because a proxy may have terminated
// TLS.
func (g *Guard) ownOrigin(r *http.Request, origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	if sameHost(u.Scheme, u.Host, g.opts.Resolver.Host(r)) {
		return true
	}
	root, err := url.Parse(g.opts.Resolver.Root(r))
	return err == nil && u.Scheme == root.Scheme && sameHost(u.Scheme, u.Host, root.Host)
}

func sameHost(scheme, a, b string) bool {
	port := map[string]string{"http": ":80", "https": ":443"}[scheme]
	return strings.EqualFold(strings.TrimSuffix(a, port), strings.TrimSuffix(b, port))
}

func (g *Guard) allowedOrigin(origin string) bool {
	return g.origins["*"] || g.origins[strings.ToLower(origin)]
}
