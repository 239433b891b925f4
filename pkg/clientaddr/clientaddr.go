// Package clientaddr determines the address of a request's client, also behind proxies.
//
//	client ──▶ proxy A ──▶ proxy B ──▶ server      X-Forwarded-For: anything, client, A      connection: B
//	                                   ◀── read from here: B trusted, A trusted, client: the result
//
// Any client can send X-Forwarded-For, but each proxy appends the address that it sees. So the header is read from its
// end, up to the first address that is not a trusted proxy.
package clientaddr

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Networks is a set of addresses. Nil is empty.
type Networks []netip.Prefix

// ParseNetworks parses networks, such as "10.0.0.0/8", and single addresses.
func ParseNetworks(texts []string) (Networks, error) {
	var all Networks
	for _, text := range texts {
		network, err := ParseNetwork(text)
		if err != nil {
			return nil, err
		}
		all = append(all, network)
	}
	return all, nil
}

// ParseNetwork parses a network or a single address. It converts IPv4 within IPv6 to IPv4.
func ParseNetwork(text string) (netip.Prefix, error) {
	text = strings.TrimSpace(text)
	if prefix, err := netip.ParsePrefix(text); err == nil {
		if a := prefix.Addr(); a.Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(a.Unmap(), prefix.Bits()-96)
		}
		return prefix.Masked(), nil
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", text)
	}
	address = address.Unmap().WithZone("")
	return netip.PrefixFrom(address, address.BitLen()), nil
}

// Contain reports whether an address is in one of the networks; false for the zero address.
func (n Networks) Contain(address netip.Addr) bool {
	for _, prefix := range n {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// Of returns the address of a request's connection; the zero address if it has none.
func Of(r *http.Request) netip.Addr { return parse(r.RemoteAddr) }

// Client returns the address of the client behind trusted proxies. It is the zero address when a trusted proxy names an
// invalid address: the header is then not trusted at all.
func (n Networks) Client(r *http.Request) netip.Addr {
	client, _ := n.way(r)
	return client
}

// Proxies returns the number of consecutive trusted proxies that a request came through. Each of them may have appended
// to headers such as X-Forwarded-Host.
func (n Networks) Proxies(r *http.Request) int {
	_, proxies := n.way(r)
	return proxies
}

// way follows X-Forwarded-For from the connection back through trusted proxies.
func (n Networks) way(r *http.Request) (client netip.Addr, proxies int) {
	address := Of(r)
	if !n.Contain(address) {
		return address, 0
	}
	proxies = 1
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if hop = strings.TrimSpace(hop); hop == "" {
			continue
		}
		if address = parse(hop); !n.Contain(address) {
			return address, proxies
		}
		proxies++
	}
	return address, proxies
}

// parse parses an address, optionally with a port, brackets or quotes; the zero address if it is invalid.
func parse(text string) netip.Addr {
	text = strings.Trim(text, `"`)
	if both, err := netip.ParseAddrPort(text); err == nil {
		return both.Addr().Unmap().WithZone("")
	}
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		return netip.Addr{}
	}
	return address.Unmap().WithZone("")
}
