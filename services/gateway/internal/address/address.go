// Package address knows under which addresses clients reach the server: what absolute URLs are built on, and which
// hosts and origins are its own.
//
// A configured public URL decides. Without one it is what the request says: its Host, or, from a trusted proxy only,
// its X-Forwarded-Host and X-Forwarded-Proto.
package address

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/orch-project/orch/pkg/clientaddr"
)

// Options are the configured addresses.
type Options struct {
	// PublicURL is the root of the server as clients see it, such as "https://orch.example.com"; empty means that
	// requests tell.
	PublicURL string
	// HooksURL is the root of webhook addresses, such as "https://hooks.example.com/hooks"; empty means /hooks below the
	// public URL.
	HooksURL string
	// TrustedProxies are addresses or networks whose X-Forwarded headers are believed.
	TrustedProxies []string
}

// Resolver resolves the public addresses of this server.
type Resolver struct {
	public  string // Without a slash at the end; empty: from the request.
	hooks   string
	trusted clientaddr.Networks
}

// New reads the configured addresses.
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

// root checks that a URL is absolute and takes the slash from its end.
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

// Root is the root of the server as the client of this request sees it, without a slash at the end.
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

// Hooks is the root of webhook addresses as the client of this request sees it, without a slash at the end.
func (b *Resolver) Hooks(r *http.Request) string {
	if b.hooks != "" {
		return b.hooks
	}
	return b.Root(r) + "/hooks"
}

// Host is the host, with its port if there is one, that the client of this request asked for.
func (b *Resolver) Host(r *http.Request) string {
	if host := b.forwarded(r, "X-Forwarded-Host"); plausibleHost(host) {
		return host
	}
	return r.Host
}

// Configured lists the hosts, without ports, of the configured URLs.
func (b *Resolver) Configured() []string {
	var hosts []string
	for _, text := range []string{b.public, b.hooks} {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			hosts = append(hosts, strings.ToLower(u.Hostname()))
		}
	}
	return hosts
}

// Client is the address of the client, also behind trusted proxies; the zero address when it cannot be told.
func (b *Resolver) Client(r *http.Request) netip.Addr { return b.trusted.Client(r) }

// forwarded returns the value that the trusted proxy nearest to the client wrote; empty when there is none. Proxies
// overwrite such a header or append to it, one value each: what stands before theirs a client may have made up.
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

// Hostname returns a host without its port and brackets, in lower case.
func Hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// Loopback tells whether a host name or address can only mean this machine.
func Loopback(hostname string) bool {
	if hostname == "localhost" || strings.HasSuffix(hostname, ".localhost") {
		return true
	}
	address, err := netip.ParseAddr(hostname)
	return err == nil && address.Unmap().IsLoopback()
}
