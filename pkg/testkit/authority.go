package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Authority is a certificate authority of a test.
type Authority struct {
	tb   testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority returns an authority that is valid around now.
func NewAuthority(tb testing.TB, now time.Time) *Authority {
	tb.Helper()
	a := &Authority{tb: tb}
	a.cert, a.key = a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
	})
	return a
}

// Certificate is the paths of a certificate, its key, and the authority's certificate.
type Certificate struct{ Cert, Key, CA string }

// Issue writes a certificate for localhost, 127.0.0.1 and more names into a folder, replacing an earlier one.
func (a *Authority) Issue(dir string, notBefore, notAfter time.Time, names ...string) Certificate {
	a.tb.Helper()
	cert, key := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "service"}, DNSNames: append([]string{"localhost"}, names...), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: notBefore, NotAfter: notAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.tb, err)
	c := Certificate{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")}
	for path, block := range map[string]*pem.Block{
		c.Cert: {Type: "CERTIFICATE", Bytes: cert.Raw}, c.Key: {Type: "PRIVATE KEY", Bytes: der}, c.CA: {Type: "CERTIFICATE", Bytes: a.cert.Raw},
	} {
		require.NoError(a.tb, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	return c
}

// sign signs a certificate with a new key; without a certificate of its own the authority signs itself.
func (a *Authority) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.tb, err)
	template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(a.tb, err)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(a.tb, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a.tb, err)
	return cert, key
}
