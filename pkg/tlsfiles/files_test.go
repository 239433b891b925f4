package tlsfiles_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/tlsfiles"
)

var quiet = slog.New(slog.DiscardHandler)

func settings(c testkit.Certificate) tlsfiles.Settings {
	return tlsfiles.Settings{Cert: c.Cert, Key: c.Key, CA: c.CA}
}

// handshake connects a client to a server, and returns the error of each.
func handshake(t *testing.T, server, client *tls.Config) (serverErr, clientErr error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			served <- err
			return
		}
		defer conn.Close()
		secured := tls.Server(conn, server)
		if err = secured.HandshakeContext(t.Context()); err == nil {
			_, err = secured.Write([]byte("x"))
		}
		served <- err
	}()
	conn, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	secured := tls.Client(conn, client)
	clientErr = secured.HandshakeContext(t.Context())
	if clientErr == nil { // With TLS 1.3 a client learns of a refused certificate when it reads.
		_, clientErr = io.ReadFull(secured, make([]byte, 1))
	}
	_ = conn.Close()
	return <-served, clientErr
}

func TestServicesTrustTheirAuthority(t *testing.T) {
	t.Parallel()
	now := time.Now()
	load := func(a *testkit.Authority, names ...string) *tlsfiles.Files {
		f, err := tlsfiles.Load(settings(a.Issue(t.TempDir(), now.Add(-time.Hour), now.Add(time.Hour), names...)), tlsfiles.Options{Log: quiet})
		require.NoError(t, err)
		return f
	}
	ours, others := testkit.NewAuthority(t, now), testkit.NewAuthority(t, now)
	server, client, foreign := load(ours, "orchestration"), load(ours, "gateway"), load(others, "orchestration")
	strict := server.Server(tls.RequireAndVerifyClientCert)

	serverErr, clientErr := handshake(t, strict, client.Client("orchestration"))
	require.NoError(t, serverErr)
	require.NoError(t, clientErr)
	_, clientErr = handshake(t, strict, client.Client("elsewhere"))
	require.ErrorContains(t, clientErr, "elsewhere", "the name is checked")
	_, clientErr = handshake(t, foreign.Server(tls.NoClientCert), client.Client("orchestration"))
	require.ErrorContains(t, clientErr, "unknown authority")
	serverErr, clientErr = handshake(t, strict, foreign.Client("orchestration"))
	require.Error(t, serverErr)
	require.Error(t, clientErr)

	none := client.Client("orchestration")
	none.Certificates = nil
	serverErr, _ = handshake(t, strict, none)
	require.Error(t, serverErr, "a client needs a certificate")
	serverErr, _ = handshake(t, server.Server(tls.VerifyClientCertIfGiven), none)
	require.NoError(t, serverErr, "a sender of webhooks has none")
}

// A renewed certificate is used without a restart, a new authority included. An invalid one is not.
func TestCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(time.Now())
	dir := t.TempDir()
	issue := func(a *testkit.Authority, until time.Duration) testkit.Certificate {
		c := a.Issue(dir, now.Now().Add(-time.Minute), now.Now().Add(until))
		modified := now.Now() // Writes of one test may have one time of modification.
		for _, path := range []string{c.Cert, c.Key, c.CA} {
			require.NoError(t, os.Chtimes(path, modified, modified))
		}
		return c
	}
	first := testkit.NewAuthority(t, now.Now())
	var log bytes.Buffer
	warnings := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	files, err := tlsfiles.Load(settings(issue(first, time.Hour)), tlsfiles.Options{Clock: now, Log: warnings})
	require.NoError(t, err)
	serial := func() string { return files.Client("localhost").Certificates[0].Leaf.SerialNumber.String() }
	before := serial()

	now.Advance(2 * time.Second)
	second := testkit.NewAuthority(t, now.Now())
	issue(second, time.Hour)
	renewed := serial()
	require.NotEqual(t, before, renewed)
	serverErr, clientErr := handshake(t, files.Server(tls.RequireAndVerifyClientCert), files.Client("localhost"))
	require.NoError(t, serverErr)
	require.NoError(t, clientErr)

	now.Advance(2 * time.Second)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.key"), []byte("half written"), 0o600))
	for range 3 {
		require.Equal(t, renewed, serial(), "the last valid certificate stays in use")
		now.Advance(2 * time.Second)
	}
	require.Equal(t, 1, strings.Count(log.String(), "\n"), "one line for one failure:\n%s", &log)
	issue(second, -time.Second)
	require.Equal(t, renewed, serial(), "an expired certificate is not used")
	require.Equal(t, 2, strings.Count(log.String(), "\n"), &log)
}

func TestRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	now := time.Now()
	authority, other := testkit.NewAuthority(t, now), testkit.NewAuthority(t, now)
	valid := authority.Issue(t.TempDir(), now.Add(-time.Hour), now.Add(time.Hour))
	expired := authority.Issue(t.TempDir(), now.Add(-2*time.Hour), now.Add(-time.Hour))
	early := authority.Issue(t.TempDir(), now.Add(time.Hour), now.Add(2*time.Hour))
	foreign := other.Issue(t.TempDir(), now.Add(-time.Hour), now.Add(time.Hour))
	text, err := os.ReadFile(valid.Cert)
	require.NoError(t, err)
	for want, s := range map[string]tlsfiles.Settings{
		"renew it":                settings(expired),
		"not valid now":           settings(early),
		"sign it with":            {Cert: valid.Cert, Key: valid.Key, CA: foreign.CA},
		"private key does not":    {Cert: valid.Cert, Key: foreign.Key, CA: valid.CA},
		"has no certificate":      {Cert: valid.Cert, Key: valid.Key, CA: valid.Key},
		"no such file":            {Cert: valid.Cert, Key: valid.Key, CA: valid.CA + ".missing"},
		"set all three":           {Cert: valid.Cert},
		"paths of files, not the": {Cert: string(text), Key: valid.Key, CA: valid.CA},
	} {
		err := s.Validate()
		if err == nil {
			_, err = tlsfiles.Load(s, tlsfiles.Options{Log: quiet})
		}
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n", "one line")
	}
	files, err := tlsfiles.Load(tlsfiles.Settings{}, tlsfiles.Options{})
	require.NoError(t, err)
	require.Nil(t, files)
}

func TestPlaintext(t *testing.T) {
	t.Parallel()
	for address, exposed := range map[string]bool{
		"127.0.0.1:4202": false, "localhost:4202": false, "[::1]:4202": false, "[::ffff:127.0.0.1]:4202": false,
		"0.0.0.0:4202": true, ":4202": true, "10.0.0.7:4202": true, "[::]:4202": true, "orchestration:4202": true,
	} {
		err := tlsfiles.CheckPlaintext(address)
		require.Equal(t, exposed, err != nil, address)
		if exposed {
			require.ErrorIs(t, err, tlsfiles.ErrExposed)
		}
	}
	require.Error(t, tlsfiles.CheckPlaintext("no port"))
}
