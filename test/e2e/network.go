package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Network is a switch with hosts, each in a network namespace of its own. The test itself is a host too.
//
//	test ── switch ──┬── host (namespace, eth0)
//	                 └── host …
type Network struct {
	id, subnet string
	hosts      []*Host
}

// Host is a machine of a network.
type Host struct {
	Name, IP string
	space    string // The network namespace.
	port     string // Its side of the switch.
	network  *Network
	relay    *Process // While the host is impaired without netem.
}

// NewNetwork creates a network with hosts of these names. Every host finds the others by name. The end of the test removes
// it. Without root or iproute2 it skips the test.
func NewNetwork(t testing.TB, names ...string) *Network {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		t.Skip("network namespaces need root and iproute2")
	}
	n := &Network{id: fmt.Sprintf("orch%d", os.Getpid()%100000), subnet: fmt.Sprintf("10.231.%d", os.Getpid()%250)}
	t.Cleanup(n.remove)
	sw := n.id + "sw"
	n.must(t, "netns", "add", sw)
	n.must(t, "-n", sw, "link", "add", "br0", "type", "bridge")
	n.must(t, "-n", sw, "link", "set", "br0", "up")
	n.must(t, "link", "add", n.id, "type", "veth", "peer", "name", "p0", "netns", sw)
	n.must(t, "addr", "add", n.subnet+".1/24", "dev", n.id)
	n.must(t, "link", "set", n.id, "up")
	n.must(t, "-n", sw, "link", "set", "p0", "master", "br0", "up")
	for i, name := range names {
		h := &Host{
			Name: name, IP: fmt.Sprintf("%s.%d", n.subnet, 10+i), space: n.id + name, port: fmt.Sprintf("p%d", i+1), network: n,
		}
		n.must(t, "netns", "add", h.space)
		n.must(t, "link", "add", "eth0", "netns", h.space, "type", "veth", "peer", "name", h.port, "netns", sw)
		n.must(t, "-n", h.space, "addr", "add", h.IP+"/24", "dev", "eth0")
		n.must(t, "-n", h.space, "link", "set", "eth0", "up")
		n.must(t, "-n", h.space, "link", "set", "lo", "up")
		n.must(t, "-n", sw, "link", "set", h.port, "master", "br0", "up")
		n.hosts = append(n.hosts, h)
	}
	return n
}

// Resolve writes the hosts files: each name has the addresses of its hosts, in that order. ip netns exec mounts the files
// into the namespaces.
func (n *Network) Resolve(t testing.TB, names map[string][]*Host) {
	t.Helper()
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n")
	for name, hosts := range names {
		for _, h := range hosts {
			fmt.Fprintf(&b, "%s %s\n", h.IP, name)
		}
	}
	for _, h := range n.hosts {
		dir := filepath.Join("/etc/netns", h.space)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "hosts"), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Host returns the host of a name.
func (n *Network) Host(name string) *Host {
	for _, h := range n.hosts {
		if h.Name == name {
			return h
		}
	}
	panic("no host " + name)
}

// Start starts a program on the host.
func (h *Host) Start(t testing.TB, env []string, program string, args ...string) *Process {
	t.Helper()
	return Start(t, h.Name, env, "ip", append([]string{"netns", "exec", h.space, program}, args...)...)
}

// Cut disconnects the host from the switch, and Join connects it again.
func (h *Host) Cut(t testing.TB) {
	h.network.must(t, "-n", h.network.id+"sw", "link", "set", h.port, "down")
}

// Join connects the host again.
func (h *Host) Join(t testing.TB) {
	h.network.must(t, "-n", h.network.id+"sw", "link", "set", h.port, "up")
}

// Deafen drops what the host sends to another one; what that sends arrives. Hear ends it.
func (h *Host) Deafen(t testing.TB, other *Host) {
	h.network.must(t, "-n", h.space, "route", "add", "blackhole", other.IP+"/32")
}

// Hear ends Deafen.
func (h *Host) Hear(t testing.TB, other *Host) {
	h.network.must(t, "-n", h.space, "route", "del", "blackhole", other.IP+"/32")
}

func (n *Network) must(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// remove deletes the namespaces, and with them their links.
func (n *Network) remove() {
	for _, h := range n.hosts {
		_ = exec.Command("ip", "netns", "del", h.space).Run()
		_ = os.RemoveAll(filepath.Join("/etc/netns", h.space))
	}
	_ = exec.Command("ip", "netns", "del", n.id+"sw").Run()
	_ = exec.Command("ip", "link", "del", n.id).Run()
	_ = os.Remove("/etc/netns") // Only if it is empty.
}
