package clientaddr

import (
	"net"
	"net/netip"
	"strings"
)

// Hostname returns a host in lower case without its port and brackets.
func Hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// Loopback reports whether a host name or address always refers to this machine.
func Loopback(hostname string) bool {
	if hostname == "localhost" || strings.HasSuffix(hostname, ".localhost") {
		return true
	}
	address, err := netip.ParseAddr(hostname)
	return err == nil && address.Unmap().IsLoopback()
}
