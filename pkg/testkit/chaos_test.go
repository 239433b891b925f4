package testkit_test

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// echo is an echo server.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c, bufio.NewReader(c)
}

func ask(t *testing.T, c net.Conn, r *bufio.Reader) (string, error) {
	t.Helper()
	_, err := io.WriteString(c, "hello\n")
	if err != nil {
		return "", err
	}
	return r.ReadString('\n')
}

func TestChaos(t *testing.T) {
	t.Parallel()
	proxy := testkit.StartChaos(t, echo(t))
	c, r := dial(t, proxy.Addr())
	answer, err := ask(t, c, r)
	require.NoError(t, err)
	require.Equal(t, "hello\n", answer)

	const delay = 50 * time.Millisecond
	proxy.Delay(delay)
	start := time.Now()
	_, err = ask(t, c, r)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(start), 2*delay)
	proxy.Heal()

	proxy.HalfOpen()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(delay)))
	_, err = ask(t, c, r)
	require.ErrorContains(t, err, "timeout")
	proxy.Heal()
	require.NoError(t, c.SetReadDeadline(time.Time{}))
	answer, err = r.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "hello\n", answer, "what was held back arrives")

	proxy.Cut()
	_, err = r.ReadString('\n')
	require.Error(t, err)
	c, r = dial(t, proxy.Addr())
	_, err = ask(t, c, r)
	require.Error(t, err, "new connections are cut too")
	proxy.Heal()
	c, r = dial(t, proxy.Addr())
	_, err = ask(t, c, r)
	require.NoError(t, err)
}
