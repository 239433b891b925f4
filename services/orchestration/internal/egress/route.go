package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"

	"github.com/orch-project/orch/pkg/safedial"
)

// Proxies are the forward proxies that the operator permits.
type Proxies []*url.URL

// ParseProxies reads the addresses of proxies, http or https, optionally with user:password@. Errors do not quote them.
func ParseProxies(addresses []string) (Proxies, error) {
	var all Proxies
	for i, address := range addresses {
		target, err := url.Parse(address)
		if err != nil || CheckAddress(address) != nil || target.Port() == "" {
			return nil, fmt.Errorf("proxy %d: must be http://host:port or https://host:port, optionally with user:password@", i+1)
		}
		all = append(all, target)
	}
	return all, nil
}

// ErrProxy means that the operator does not permit a proxy.
var ErrProxy = errors.New("the proxy is not one of ORCH_DESTINATIONS_PROXIES")

// Find returns the proxy with an origin, with its credentials.
func (p Proxies) Find(origin string) (*url.URL, error) {
	i := slices.IndexFunc(p, func(one *url.URL) bool { return Origin(one.String()) == origin })
	if i < 0 {
		return nil, ErrProxy
	}
	return p[i], nil
}

// Route is how a message reaches its receiver. The zero value is a connection with the authorities of the server.
type Route struct {
	// Certificates are those of the client.
	Certificates []tls.Certificate
	// Authorities are those that certificates of the receiver are verified with; nil means those of the server.
	Authorities *x509.CertPool
	// Proxy is the origin of the proxy that is connected to instead of the receiver; empty means none.
	Proxy string
}

func (r *Route) zero() bool { return r.Certificates == nil && r.Authorities == nil && r.Proxy == "" }

// through returns a client for a route to an address. It connects to addresses of the policy alone, or to a proxy that the operator
// permits. Then the policy applies to the addresses that the server knows of the receiver; the proxy is trusted with other names.
func (c *Client) through(ctx context.Context, r *Route, address string) (*http.Client, error) {
	client := c.dial.Client(c.timeout)
	transport, ok := client.Transport.(*http.Transport)
	if !ok {
		return nil, errors.New("the client has no transport")
	}
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: r.Certificates, RootCAs: r.Authorities}
	if r.Proxy == "" {
		return client, nil
	}
	proxy, err := c.proxies.Find(r.Proxy)
	if err != nil {
		return nil, err
	}
	transport.Proxy = http.ProxyURL(proxy)
	transport.DialContext = (&net.Dialer{Timeout: c.timeout}).DialContext
	return client, permit(ctx, c.dial, address)
}

// permit returns safedial.ErrForbidden if an address that the server knows of the receiver is not one of a policy.
func permit(ctx context.Context, dial safedial.Policy, address string) error {
	target, err := url.Parse(address)
	if err != nil {
		return ErrAddress
	}
	if literal, err := netip.ParseAddr(target.Hostname()); err == nil {
		return dial.Check(literal)
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", target.Hostname())
	if err != nil {
		return nil //nolint:nilerr // The proxy may know the name.
	}
	for _, resolved := range addresses {
		if err := dial.Check(resolved); err != nil {
			return err
		}
	}
	return nil
}
