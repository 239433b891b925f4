package pipe

import (
	"net"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConn(t *testing.T) {
	nettest.TestConn(t, func() (a, b net.Conn, stop func(), err error) {
		a, b = New()
		return a, b, func() { a.Close(); b.Close() }, nil
	})
}
