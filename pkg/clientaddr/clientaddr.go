// Package clientaddr tells which address a request comes from, also when proxies stand before the server.
//
//	client ──▶ proxy A ──▶ proxy B ──▶ server      X-Forwarded-For: anything, client, A      connection: B
//	                                   ◀── read from here: B trusted, A trusted, client: that is it
//
// Whoever connects can write anything into X-Forwarded-For, but each proxy appends the address it sees. So the header is
// read from its end, and only as far as every address on the way is a trusted proxy's.
package clientaddr

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Networks is a set of addresses. Nil holds none.
type Networks []netip.Prefix

// ParseNetworks reads networks, such as "10.0.0.0/8", and single addresses.
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

// ParseNetwork reads a network or a single address. IPv4 within IPv6 is IPv4.
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

// Contain tells whether an address is one of these. The zero address is none.
func (n Networks) Contain(address netip.Addr) bool {
	for _, prefix := range n {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// Of is the address that the connection of a request comes from; the zero address when that has none.
func Of(r *http.Request) netip.Addr { return parse(r.RemoteAddr) }

// Client is the address of the client behind trusted proxies. It is the zero address when a trusted proxy names
// something that is no address: nobody is then believed.
func (n Networks) Client(r *http.Request) netip.Addr {
	client, _ := n.way(r)
	return client
}

// Proxies is how many trusted proxies, one behind the other, a request came through: each of them may have appended to
// headers such as X-Forwarded-Host.
func (n Networks) Proxies(r *http.Request) int {
	_, proxies := n.way(r)
	return proxies
}

// way goes back from the connection as far as addresses are trusted proxies'.
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

// parse reads an address, perhaps with a port, brackets or quotes; the zero address when it is none.
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
