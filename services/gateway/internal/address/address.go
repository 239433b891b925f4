// Package address resolves the server's public addresses: the base of absolute URLs, and the hosts and origins that are
// the server's own.
//
// A configured public URL takes precedence. Without one, the request's Host applies; X-Forwarded-Host and
// X-Forwarded-Proto apply only from a trusted proxy.
package address

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/orch-project/orch/pkg/clientaddr"
)

// Options are the configured addresses.
type Options struct {
	// PublicURL is the root of the server as clients see it, such as "https://orch.example.com". Empty derives it from
	// each request.
	PublicURL string
	// HooksURL is the root of webhook addresses, such as "https://hooks.example.com/hooks". Empty means /hooks below
	// the public URL.
	HooksURL string
	// TrustedProxies are addresses or networks whose X-Forwarded headers are trusted.
	TrustedProxies []string
}

// Resolver resolves the public addresses of this server.
type Resolver struct {
	public  string // Without a trailing slash; empty means derived from the request.
	hooks   string
	trusted clientaddr.Networks
}

// New parses the configured addresses.
func New(opts Options) (*Resolver, error) {
	b := &Resolver{}
	var err error
	if b.public, err = root(opts.PublicURL); err != nil {
		return nil, fmt.Errorf("read the public URL: %w", err)
	}
	b.public = strings.TrimSuffix(b.public, "/api")
	if b.hooks, err = root(opts.HooksURL); err != nil {
		return nil, fmt.Errorf("read the hooks URL: %w", err)
	}
	if b.trusted, err = clientaddr.ParseNetworks(opts.TrustedProxies); err != nil {
		return nil, fmt.Errorf("read the trusted proxies: %w", err)
	}
	return b, nil
}

// root checks that a URL is absolute and removes its trailing slash.
func root(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", fmt.Errorf("%q is not of the form https://host or https://host/path", text)
	}
	return strings.TrimRight(text, "/"), nil
}

// Root returns the server's root URL as the client of this request sees it, without a trailing slash.
func (b *Resolver) Root(r *http.Request) string {
	if b.public != "" {
		return b.public
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	if proto := b.forwarded(r, "X-Forwarded-Proto"); proto == "http" || proto == "https" {
		scheme = proto
	}
	return scheme + "://" + b.Host(r)
}

// Hooks returns the root of webhook addresses as the client of this request sees it, without a trailing slash.
func (b *Resolver) Hooks(r *http.Request) string {
	if b.hooks != "" {
		return b.hooks
	}
	return b.Root(r) + "/hooks"
}

// Host returns the host that the client requested, with its port if it has one.
func (b *Resolver) Host(r *http.Request) string {
	if host := b.forwarded(r, "X-Forwarded-Host"); plausibleHost(host) {
		return host
	}
	return r.Host
}

// Configured returns the hosts of the configured URLs, without ports.
func (b *Resolver) Configured() []string {
	var hosts []string
	for _, text := range []string{b.public, b.hooks} {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			hosts = append(hosts, strings.ToLower(u.Hostname()))
		}
	}
	return hosts
}

// Client returns the client's address, also behind trusted proxies; the zero address if it is unknown.
func (b *Resolver) Client(r *http.Request) netip.Addr { return b.trusted.Client(r) }

// forwarded returns the value written by the trusted proxy that is nearest to the client, empty if there is none. Each
// proxy appends or overwrites one value; earlier values may be forged by the client.
func (b *Resolver) forwarded(r *http.Request, name string) string {
	proxies := b.trusted.Proxies(r)
	if proxies == 0 {
		return ""
	}
	values := strings.Split(strings.Join(r.Header.Values(name), ","), ",")
	return strings.TrimSpace(values[max(0, len(values)-proxies)])
}

func plausibleHost(host string) bool {
	if host == "" || len(host) > 255 {
		return false
	}
	u, err := url.Parse("http://" + host)
	return err == nil && u.Host == host && u.User == nil
}
