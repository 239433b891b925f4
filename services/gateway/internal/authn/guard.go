package authn

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/address"
)

// Options are what a Guard needs.
type Options struct {
	// Basic is the one user; nil means no authentication.
	Basic *auth.Basic
	// Keys demands API keys, which are judged where the operation is known.
	Keys bool
	// Insecure servers face other machines without authentication: their addresses, though not other names, count as
	// their own hosts.
	Insecure bool
	// AllowedHosts are host names beside loopback's and the configured URLs'; "*" allows all.
	AllowedHosts []string
	// Origins are the web origins that may use the API from a browser; "*" allows all.
	Origins []string
	// Resolver knows the server's addresses.
	Resolver *address.Resolver
}

// Guard checks requests.
type Guard struct {
	opts    Options
	hosts   map[string]bool
	anyHost bool
	origins map[string]bool
}

// New makes a guard.
func New(opts Options) *Guard {
	g := &Guard{opts: opts, hosts: map[string]bool{}, origins: map[string]bool{}}
	for _, host := range append(slices.Clone(opts.AllowedHosts), opts.Resolver.Configured()...) {
		if host = address.Hostname(strings.TrimSpace(host)); host != "" {
			g.anyHost = g.anyHost || host == "*"
			g.hosts[host] = true
		}
	}
	for _, origin := range opts.Origins {
		g.origins[strings.TrimRight(strings.ToLower(strings.TrimSpace(origin)), "/")] = true
	}
	return g
}

// Surroundings checks where a request comes from and goes to, not who sends it. Its error is the answer.
func (g *Guard) Surroundings(r *http.Request) error {
	if g.opts.Basic == nil && !g.opts.Keys && !g.ownHost(g.opts.Resolver.Host(r)) {
		return rpc.Detail(http.StatusForbidden, "This server does not answer to that Host; ORCH_ALLOWED_HOSTS or ORCH_PUBLIC_URL can name it.")
	}
	if origin := r.Header.Get("Origin"); origin != "" && !g.ownOrigin(r, origin) && !g.allowedOrigin(origin) {
		return rpc.Detail(http.StatusForbidden, "This server does not answer to pages of that Origin; ORCH_CORS_ORIGINS can name it.")
	}
	return nil
}

// Credentials checks who sends a request. Its error is the answer.
func (g *Guard) Credentials(r *http.Request) error {
	if g.opts.Keys {
		return errNoKey // Whoever does not ask Keys lets nobody in.
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
	name := address.Hostname(host)
	if g.anyHost || g.hosts[name] || address.Loopback(name) {
		return true
	}
	if !g.opts.Insecure {
		return false
	}
	_, err := netip.ParseAddr(name) // An address cannot be made to point elsewhere, as a name can.
	return err == nil
}

// ownOrigin tells whether a page is the server's own. The scheme is left out: a proxy may have taken TLS off.
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
