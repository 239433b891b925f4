// Package safedial connects to addresses that users chose, and to public ones alone.
//
//	name ──resolve──► address ──check──► connect to that very address
//
// The check happens between resolution and connection, on the address that is connected to, so a name that resolves to
// another address a moment later changes nothing. Clients do not follow HTTP redirects: a redirect is a response.
package safedial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// ErrForbidden is that an address is not public and not allowed.
var ErrForbidden = errors.New("the address is not public")

// Policy says which addresses that are not public may be connected to. The zero Policy allows none.
type Policy struct {
	// Allowed are networks that may be connected to though they are not public.
	Allowed []netip.Prefix
}

// ParsePolicy reads a list of networks and addresses, separated by commas; "*" allows every address.
func ParsePolicy(text string) (Policy, error) {
	var p Policy
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		switch {
		case part == "":
		case part == "*":
			p.Allowed = append(p.Allowed, netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"))
		case strings.Contains(part, "/"):
			prefix, err := netip.ParsePrefix(part)
			if err != nil {
				return Policy{}, fmt.Errorf("parse the network %q: %w", part, err)
			}
			p.Allowed = append(p.Allowed, prefix.Masked())
		default:
			address, err := netip.ParseAddr(part)
			if err != nil {
				return Policy{}, fmt.Errorf("parse the address %q: %w", part, err)
			}
			p.Allowed = append(p.Allowed, netip.PrefixFrom(address, address.BitLen()))
		}
	}
	return p, nil
}

// global is the only network of IPv6 from which public addresses are assigned. So forms that embed an address of IPv4 elsewhere
// (64:ff9b::/96, ::/96, ::ffff:0:0:0/96) are not public, nor are networks that somebody assigns to a purpose later.
var global = netip.MustParsePrefix("2000::/3")

// special are networks that are not public, beside those that net/netip knows.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // This network.
	netip.MustParsePrefix("100.64.0.0/10"),   // Shared by carriers; metadata services of some clouds.
	netip.MustParsePrefix("192.0.0.0/24"),    // Protocol assignments.
	netip.MustParsePrefix("192.0.2.0/24"),    // Documentation.
	netip.MustParsePrefix("192.88.99.0/24"),  // Relays of 6to4.
	netip.MustParsePrefix("198.18.0.0/15"),   // Benchmarks.
	netip.MustParsePrefix("198.51.100.0/24"), // Documentation.
	netip.MustParsePrefix("203.0.113.0/24"),  // Documentation.
	netip.MustParsePrefix("240.0.0.0/4"),     // Reserved, and broadcast.
	netip.MustParsePrefix("2001::/23"),       // Protocol assignments, Teredo among them.
	netip.MustParsePrefix("2001:db8::/32"),   // Documentation.
	netip.MustParsePrefix("2002::/16"),       // IPv4 in 6to4.
	netip.MustParsePrefix("3fff::/20"),       // Documentation.
	// The metadata and management of virtual machines in Azure, although the address is not of a special network.
	netip.MustParsePrefix("168.63.129.16/32"),
}

// Check returns ErrForbidden for an address that may not be connected to.
func (p Policy) Check(address netip.Addr) error {
	address = address.Unmap().WithZone("")
	for _, allowed := range p.Allowed {
		if allowed.Contains(address) {
			return nil
		}
	}
	public := address.IsGlobalUnicast() && !address.IsPrivate() && !address.IsLoopback() && !address.IsLinkLocalUnicast() &&
		(address.Is4() || global.Contains(address) && !isISATAP(address))
	for _, network := range special {
		public = public && !network.Contains(address)
	}
	if !public {
		return fmt.Errorf("connect to %s: %w", address, ErrForbidden)
	}
	return nil
}

// isISATAP reports whether the interface identifier of an IPv6 address embeds an IPv4 address (RFC 5214). Any network may have such
// addresses.
func isISATAP(address netip.Addr) bool {
	b := address.As16()
	return b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// Dialer returns a dialer that connects to addresses of the policy alone.
func (p Policy) Dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, ControlContext: p.control}
}

func (p Policy) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return fmt.Errorf("connect by %s: %w", network, ErrForbidden)
	}
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("connect to %q: %w", address, err)
	}
	return p.Check(target.Addr())
}

// Client returns an HTTP client that connects to addresses of the policy alone, without a proxy. Timeout bounds a whole
// exchange. The client returns a redirect as the response. Following one would send body and headers, credentials among them,
// to an address that the user did not choose.
func (p Policy) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			Proxy: nil, DialContext: p.Dialer(timeout).DialContext, ForceAttemptHTTP2: true, DisableKeepAlives: true,
			TLSHandshakeTimeout: timeout, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
