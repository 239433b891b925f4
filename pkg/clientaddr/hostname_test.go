package clientaddr_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clientaddr"
)

func TestHostnames(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"localhost": "localhost", "LOCALHOST:1": "localhost", "[::1]:1": "::1", "[::1]": "::1", "127.0.0.1:1": "127.0.0.1", "a.b.:1": "a.b", "": "",
	} {
		require.Equal(t, want, clientaddr.Hostname(host))
	}
	for host, want := range map[string]bool{
		"localhost": true, "a.localhost": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "::": false, "localhost.evil.com": false, "10.0.0.1": false, "127.1": false,
	} {
		require.Equal(t, want, clientaddr.Loopback(host), host)
	}
}
