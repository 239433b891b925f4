package testkit

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Chaos is a TCP proxy on a loopback port that injects field errors on command. It starts without field errors.
type Chaos struct {
	target   string
	listener net.Listener
	wg       sync.WaitGroup

	mu       sync.Mutex
	delay    time.Duration // Added to every chunk, in each direction.
	halfOpen chan struct{} // Not nil: the proxy holds bytes back; closed by Heal.
	cut      bool          // New connections are closed at once.
	conns    map[net.Conn]struct{}
}

// StartChaos starts a proxy to target (host:port). It stops with the test.
func StartChaos(tb testing.TB, target string) *Chaos {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	c := &Chaos{target: target, listener: l, conns: map[net.Conn]struct{}{}}
	c.wg.Go(c.accept)
	tb.Cleanup(func() {
		_ = l.Close()
		c.Cut()
		c.wg.Wait()
	})
	return c
}

// Addr is the proxy's listen address.
func (c *Chaos) Addr() string { return c.listener.Addr().String() }

// Delay delays every chunk of bytes by d.
func (c *Chaos) Delay(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delay = d
}

// Cut closes all connections, and new ones immediately, until Heal.
func (c *Chaos) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	c.release()
	for conn := range c.conns {
		_ = conn.Close()
	}
}

// HalfOpen keeps all connections open and forwards nothing, like a frozen peer. Bytes sent until Heal are held, not
// lost.
func (c *Chaos) HalfOpen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.halfOpen == nil {
		c.halfOpen = make(chan struct{})
	}
}

// Heal removes all field errors.
func (c *Chaos) Heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut, c.delay = false, 0
	c.release()
}

// release ends HalfOpen. The lock is held.
func (c *Chaos) release() {
	if c.halfOpen != nil {
		close(c.halfOpen)
		c.halfOpen = nil
	}
}

func (c *Chaos) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.target)
		if err != nil || !c.track(client, server) {
			_ = client.Close()
			if server != nil {
				_ = server.Close()
			}
			continue
		}
		c.wg.Go(func() { c.copy(server, client) })
		c.wg.Go(func() { c.copy(client, server) })
	}
}

// track registers connections for Cut; it returns false while connections are cut.
func (c *Chaos) track(conns ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range conns {
		c.conns[conn] = struct{}{}
	}
	return !c.cut
}

// copy forwards bytes until either side closes.
func (c *Chaos) copy(to, from net.Conn) {
	defer func() {
		_, _ = to.Close(), from.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.conns, to)
		delete(c.conns, from)
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		c.mu.Lock()
		delay, halfOpen := c.delay, c.halfOpen
		c.mu.Unlock()
		if halfOpen != nil {
			<-halfOpen
		}
		time.Sleep(delay)
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
