package embeddedmongo

import (
	"bufio"
	"errors"
	"io"
	"net"
	"time"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/command"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/wire"
)

// watchAfter is the time after which a command in progress is watched for the end of its connection. Most commands end earlier.
const watchAfter = 100 * time.Millisecond

// loginTimeout bounds how long a connection that must authenticate may take for each message. It is three times the interval in which
// drivers monitor a server, by connections that never authenticate.
const loginTimeout = 30 * time.Second

// maxLogin is the largest frame in bytes before a connection has authenticated.
const maxLogin = 16 << 10

// serveConn serves one connection. Nil accounts admit everybody.
func (s *Server) serveConn(c net.Conn, accounts *command.Accounts) {
	defer s.wg.Done()
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	id, login := s.service.NextConnection(), accounts.Login()
	r := bufio.NewReaderSize(c, 16<<10)
	watch := newWatch(r)
	defer watch.wait() // It ends with the connection.
	defer c.Close()
	for {
		limit := wire.MaxMessage
		if !login.Admitted() {
			limit = maxLogin
			_ = c.SetDeadline(time.Now().Add(loginTimeout)) // A failure shows at the next read.
		}
		m, err := wire.ReadAtMost(r, limit)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.ErrUnexpectedEOF) && s.ctx.Err() == nil {
				s.log.Warn("failed to read from a connection; closed it", "connection", id, "remote", c.RemoteAddr().String(), "error", err)
			}
			return
		}
		watch.begin(m)
		outside := !login.Admitted()
		reply := login.Intercept(m)
		if reply == nil {
			reply = s.service.Handle(s.ctx, id, m)
		}
		if outside && login.Admitted() {
			_ = c.SetDeadline(time.Time{})
		}
		watch.end()
		if reply == nil {
			return
		}
		if !m.NoReply {
			if err := m.WriteReply(c, reply); err != nil {
				return
			}
		}
		command.Release(reply)
		// Most bytes arrive as inserted documents, which the store has copied. Other commands may leave a cursor or a fail point
		// with parts of the message.
		if name, _ := m.Body.First(); name == "insert" {
			m.Release()
		}
		watch.wait()
	}
}

// watch marks a long command as abandoned when its client closes the connection. For that it reads ahead: the owner of the reader
// must not read between begin and wait.
type watch struct {
	r      *bufio.Reader
	m      *wire.Message
	timer  *time.Timer
	peeked chan struct{}
	began  bool // The timer has fired: peeked will receive a value.
}

func newWatch(r *bufio.Reader) *watch {
	w := &watch{r: r, peeked: make(chan struct{}, 1)}
	w.timer = time.AfterFunc(time.Hour, w.peek)
	w.timer.Stop()
	return w
}

// begin watches during a command.
func (w *watch) begin(m *wire.Message) {
	w.m = m
	w.timer.Reset(watchAfter)
}

// peek waits for the client's next message or the end of the connection.
func (w *watch) peek() {
	m := w.m
	if _, err := w.r.Peek(1); err != nil {
		m.Abandoned.Store(true)
	}
	w.peeked <- struct{}{}
}

// end stops watching after a command.
func (w *watch) end() { w.began = !w.timer.Stop() }

// wait returns when the reader is free again: after the client's next message if the command was long.
func (w *watch) wait() {
	if w.began {
		<-w.peeked
		w.began = false
	}
}
