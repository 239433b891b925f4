package e2e

import (
	"context"
	"os/exec"
	"testing"
)

// Impairment is what happens to the frames that a host sends.
type Impairment struct {
	Delay string // A duration, such as 50ms.
	Loss  string // In percent, such as 1.
}

// Impair delays and loses what the host sends. The kernel does it where it has netem, else the program at a path, between the
// host and the switch:
//
//	host eth0 ── port ══ netdelay ══ q-port ── r-port ── switch
func (h *Host) Impair(t testing.TB, netdelay string, i Impairment) {
	t.Helper()
	netem := exec.Command("tc", "-n", h.space, "qdisc", "replace", "dev", "eth0", "root", "netem", "delay", i.Delay, "loss", i.Loss+"%")
	if netem.Run() == nil {
		return
	}
	sw := h.network.id + "sw"
	near, far := "q-"+h.port, "r-"+h.port
	h.network.must(t, "-n", sw, "link", "add", near, "type", "veth", "peer", "name", far)
	h.network.must(t, "-n", sw, "link", "set", near, "up")
	h.network.must(t, "-n", sw, "link", "set", far, "master", "br0", "up")
	h.network.must(t, "-n", sw, "link", "set", h.port, "nomaster")
	h.relay = Start(t, "netdelay "+h.Name, nil, "ip", "netns", "exec", sw, netdelay, i.Delay, i.Loss, h.port, near)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if _, err := h.relay.Line(ctx, "ready"); err != nil {
		t.Fatal(err)
	}
}

// Repair ends Impair.
func (h *Host) Repair(t testing.TB) {
	t.Helper()
	if h.relay == nil {
		_ = exec.Command("tc", "-n", h.space, "qdisc", "del", "dev", "eth0", "root").Run()
		return
	}
	h.relay.Kill()
	h.relay = nil
	sw := h.network.id + "sw"
	h.network.must(t, "-n", sw, "link", "set", h.port, "master", "br0")
	h.network.must(t, "-n", sw, "link", "del", "q-"+h.port)
}
