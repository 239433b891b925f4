package embeddedmongo

import (
	"bufio"
	"errors"
	"io"
	"net"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/wire"
)

// serveConn executes the commands of one connection in order until the connection ends or sends a malformed frame.
func (s *Server) serveConn(c net.Conn) {
	defer s.wg.Done()
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	id := s.service.NextConnection()
	r := bufio.NewReaderSize(c, 16<<10)
	for {
		m, err := wire.Read(r)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.ErrUnexpectedEOF) && s.ctx.Err() == nil {
				s.log.Warn("connection closed", "connection", id, "remote", c.RemoteAddr().String(), "error", err)
			}
			return
		}
		reply := s.service.Handle(s.ctx, id, m)
		if reply == nil {
			return
		}
		if m.NoReply {
			continue
		}
		if _, err := c.Write(m.Reply(reply)); err != nil {
			return
		}
	}
}
