package sns_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/safedial"
	"github.com/orch-project/orch/pkg/webhook/sns"
	"github.com/orch-project/orch/pkg/webhook/sns/snstest"
)

// TestOnlyHostsOfSNSAreFetched, over HTTPS, without a redirect, and of public addresses alone.
func TestOnlyHostsOfSNSAreFetched(t *testing.T) {
	t.Parallel()
	p := snstest.New(t)
	c := client(t, p)
	for _, address := range []string{
		"http://sns.eu-central-1.amazonaws.com/a.pem", "https://sns.eu-central-1.amazonaws.com.evil.example/a.pem",
		"https://evil.example/sns.eu-central-1.amazonaws.com/a.pem", "https://sns.eu-central-1.amazonaws.com@evil.example/a.pem",
		"https://sns.eu-central-1.amazonaws.com:8443/a.pem", "https://s3.amazonaws.com/a.pem", "https://sns.a.b.amazonaws.com/a.pem",
		"https://user@sns.eu-central-1.amazonaws.com/a.pem", "https://169.254.169.254/a.pem", "file:///a.pem", "", "%", "https:///a.pem",
		"https://" + p.Host() + "/a.txt", p.CertificateURL() + "?x=1",
	} {
		_, err := c.Certificate(t.Context(), address)
		require.ErrorIs(t, err, sns.ErrForeign, address)
		require.ErrorIs(t, c.Confirm(t.Context(), address), sns.ErrForeign, address)
	}
	_, err := c.Certificate(t.Context(), "https://"+p.Host()+"/redirect.pem")
	require.ErrorIs(t, err, sns.ErrUnavailable)
	_, err = c.Certificate(t.Context(), "https://"+p.Host()+"/endless.pem")
	require.ErrorContains(t, err, "exceeds")

	guarded := sns.NewClient(sns.Options{Hosts: []string{p.Host()}, Roots: p.Roots()})
	_, err = guarded.Certificate(t.Context(), p.CertificateURL())
	require.ErrorIs(t, err, safedial.ErrForbidden, "a loopback address")
	strangers := sns.NewClient(sns.Options{Hosts: []string{p.Host()}, Policy: loopback(t)})
	_, err = strangers.Certificate(t.Context(), p.CertificateURL())
	require.ErrorContains(t, err, "unknown authority")

	require.NoError(t, sns.ParseHosts([]string{"localhost:4566", "sns.private.example", "[::1]:80"}))
	for _, bad := range []string{"", "https://x", "x/y", "a b"} {
		require.Error(t, sns.ParseHosts([]string{bad}), bad)
	}
}

func loopback(t *testing.T) safedial.Policy {
	t.Helper()
	policy, err := safedial.ParsePolicy("127.0.0.1")
	require.NoError(t, err)
	return policy
}

// TestCertificatesAreFetchedOnce for any number of concurrent messages, until they expire from the cache. Failures are cached
// for a short time, and never displace a certificate.
func TestCertificatesAreFetchedOnce(t *testing.T) {
	t.Parallel()
	p := snstest.New(t)
	now := clock.NewManual(time.Now())
	c := sns.NewClient(sns.Options{Hosts: []string{p.Host()}, Policy: loopback(t), Roots: p.Roots(), Clock: now})
	get := func(address string) error {
		_, err := c.Certificate(t.Context(), address)
		return err
	}
	p.Fail(true)
	require.ErrorIs(t, get(p.CertificateURL()), sns.ErrUnavailable)
	p.Fail(false)
	require.ErrorContains(t, get(p.CertificateURL()), "cached")
	now.Advance(time.Minute)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := get(p.CertificateURL()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, p.Fetched())
	for i := range 300 {
		require.ErrorIs(t, get("https://"+p.Host()+"/"+strconv.Itoa(i)+".pem"), sns.ErrUnavailable)
	}
	p.Fail(true)
	require.NoError(t, get(p.CertificateURL()), "the cache holds it")
	now.Advance(25 * time.Hour)
	require.ErrorIs(t, get(p.CertificateURL()), sns.ErrUnavailable)
}

// TestConfirm retrieves the URL once, and shows no token in its errors.
func TestConfirm(t *testing.T) {
	t.Parallel()
	p := snstest.New(t)
	c := client(t, p)
	address := "https://" + p.Host() + "/?Action=ConfirmSubscription&Token=topsecret"
	require.NoError(t, c.Confirm(t.Context(), address))
	require.Equal(t, []string{"topsecret"}, p.Confirmed())
	require.ErrorIs(t, c.Confirm(t.Context(), "https://"+p.Host()+"/?Action=DeleteTopic&Token=topsecret"), sns.ErrForeign)
	p.Fail(true)
	err := c.Confirm(t.Context(), address)
	require.ErrorIs(t, err, sns.ErrUnavailable)
	require.NotContains(t, err.Error(), "topsecret")
}
