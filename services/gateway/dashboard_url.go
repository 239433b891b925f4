package gateway

import (
	"cmp"
	"net"
	"strings"
)

// DashboardURL is the root of the dashboard as a browser reaches it: the public URL or, without one, the published address
// or the address that the gateway listens on. A wildcard host becomes 127.0.0.1. It is empty if the address has no fixed port.
func (c *Config) DashboardURL() string {
	if c.PublicURL != "" {
		return strings.TrimSuffix(c.PublicURL, "/")
	}
	host, port, err := net.SplitHostPort(cmp.Or(c.Published, c.Listen))
	if err != nil || port == "" || port == "0" {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
