// Package pipe provides buffered in-memory connections: a net.Conn pair without sockets. A write blocks only while the buffer is
// full.
package pipe

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// capacity is the buffer size of one direction, in bytes.
const capacity = 256 << 10

// New makes a connected pair.
func New() (client, server net.Conn) {
	a, b := newBuffer(), newBuffer()
	return &conn{r: a, w: b}, &conn{r: b, w: a}
}

type conn struct {
	r, w *buffer
}

// buffer is one direction. Reader and writer have separate deadlines.
type buffer struct {
	mu     sync.Mutex
	cond   sync.Cond
	data   []byte
	off    int
	closed bool
	rd, wd deadline
}

func newBuffer() *buffer {
	b := &buffer{}
	b.cond.L = &b.mu
	return b
}

type deadline struct {
	timer   *time.Timer
	expired bool
	gen     int
}

func (b *buffer) setDeadline(d *deadline, t time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.expired = false
	d.gen++
	if t.IsZero() {
		return
	}
	wait := time.Until(t)
	if wait <= 0 {
		d.expired = true
		b.cond.Broadcast()
		return
	}
	gen := d.gen
	d.timer = time.AfterFunc(wait, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if d.gen == gen {
			d.expired = true
			b.cond.Broadcast()
		}
	})
}

func (b *buffer) read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		switch {
		case b.rd.expired:
			return 0, os.ErrDeadlineExceeded
		case b.off < len(b.data):
			n := copy(p, b.data[b.off:])
			if b.off += n; b.off == len(b.data) {
				b.empty()
			}
			b.cond.Broadcast()
			return n, nil
		case b.closed:
			return 0, io.EOF
		case len(p) == 0:
			return 0, nil
		}
		b.cond.Wait()
	}
}

func (b *buffer) write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	done := 0
	for {
		switch {
		case b.closed:
			return done, io.ErrClosedPipe
		case b.wd.expired:
			return done, os.ErrDeadlineExceeded
		}
		if room := capacity - (len(b.data) - b.off); room > 0 {
			n := min(room, len(p)-done)
			b.reserve(n)
			b.data = append(b.data, p[done:done+n]...)
			done += n
			b.cond.Broadcast()
		}
		if done == len(p) {
			return done, nil
		}
		b.cond.Wait()
	}
}

// buffers holds *[]byte of buffers without data: most connections are idle.
var buffers sync.Pool

// minReused is the size of a buffer, in bytes, from which connections share it.
const minReused = 8 << 10

// reserve makes room for n more bytes. The caller holds the mutex.
func (b *buffer) reserve(n int) {
	if len(b.data)+n <= cap(b.data) {
		return
	}
	unread, data := b.data[b.off:], b.data
	if len(unread)+n > cap(data) {
		data = memory(len(unread) + n)
	}
	b.data, b.off = append(data[:0], unread...), 0
}

// memory returns memory for n bytes.
func memory(n int) []byte {
	if n >= minReused {
		if b, ok := buffers.Get().(*[]byte); ok && cap(*b) >= n {
			return *b
		}
	}
	return make([]byte, 0, n)
}

// empty removes the data, and gives a large buffer to other connections. The caller holds the mutex.
func (b *buffer) empty() {
	b.data, b.off = b.data[:0], 0
	if large := b.data; cap(large) >= minReused {
		buffers.Put(&large)
		b.data = nil
	}
}

func (b *buffer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, d := range []*deadline{&b.rd, &b.wd} {
		if d.timer != nil {
			d.timer.Stop()
			d.timer = nil
		}
	}
	b.cond.Broadcast()
}

func (c *conn) Read(p []byte) (int, error)  { return c.r.read(p) }
func (c *conn) Write(p []byte) (int, error) { return c.w.write(p) }

// Close ends both directions. The other side can still read the buffered data.
func (c *conn) Close() error {
	c.w.close()
	c.r.close()
	return nil
}

func (c *conn) SetDeadline(t time.Time) error {
	c.r.setDeadline(&c.r.rd, t)
	c.w.setDeadline(&c.w.wd, t)
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.r.setDeadline(&c.r.rd, t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.w.setDeadline(&c.w.wd, t)
	return nil
}

type addr struct{}

func (addr) Network() string { return "pipe" }
func (addr) String() string  { return "embedded" }

func (c *conn) LocalAddr() net.Addr  { return addr{} }
func (c *conn) RemoteAddr() net.Addr { return addr{} }
