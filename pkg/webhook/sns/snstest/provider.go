// Package snstest is a provider in tests that signs messages as Amazon SNS does, with a key of its own.
//
// It serves its certificate and confirms subscriptions over TLS on the loopback interface. A client under test must be
// configured for it: its host, its certificate authority, and the loopback network.
package snstest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/webhook/sns"
)

// Provider signs messages. It is safe for concurrent use.
type Provider struct {
	t      testing.TB
	server *httptest.Server
	key    *rsa.PrivateKey

	mu        sync.Mutex
	pem       []byte
	fetched   int
	confirmed []string
	failing   bool
}

// New starts a provider that ends with the test.
func New(t testing.TB) *Provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	p := &Provider{t: t, key: key}
	p.Certify(time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour))
	p.server = httptest.NewTLSServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.server.Close)
	return p
}

// Certify replaces the certificate by one that is valid in a span of time.
func (p *Provider) Certify(from, to time.Time) {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: to}
	der, err := x509.CreateCertificate(rand.Reader, template, template, p.key.Public(), p.key)
	require.NoError(p.t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// serve serves /NAME.pem and the confirmation of subscriptions.
func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.failing:
		w.WriteHeader(http.StatusInternalServerError)
	case r.URL.Path == "/redirect.pem":
		http.Redirect(w, r, "/certificate.pem", http.StatusFound)
	case r.URL.Path == "/endless.pem":
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	case strings.HasSuffix(r.URL.Path, "certificate.pem"):
		p.fetched++
		_, _ = w.Write(p.pem) // The client has gone.
	case r.URL.Query().Get("Action") == "ConfirmSubscription":
		p.confirmed = append(p.confirmed, r.URL.Query().Get("Token"))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// Host is the host and port of the provider.
func (p *Provider) Host() string { return p.server.Listener.Addr().String() }

// Roots are the certificate authorities that the provider's TLS certificate needs.
func (p *Provider) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.server.Certificate())
	return pool
}

// RootsFile writes these authorities into a file, for SSL_CERT_FILE of another process.
func (p *Provider) RootsFile() string {
	path := filepath.Join(p.t.TempDir(), "roots.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	require.NoError(p.t, os.WriteFile(path, text, 0o600))
	return path
}

// Fail makes the provider respond with a 500, or lets it recover.
func (p *Provider) Fail(failing bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failing = failing
}

// Fetched is how often the certificate was fetched.
func (p *Provider) Fetched() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetched
}

// Confirmed are the tokens of the confirmed subscriptions.
func (p *Provider) Confirmed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.confirmed...)
}

// CertificateURL is the address of the provider's certificate.
func (p *Provider) CertificateURL() string { return "https://" + p.Host() + "/certificate.pem" }

// Notification is a signed message of a topic. Changes are applied before it is signed.
func (p *Provider) Notification(topic, id, text string, change ...func(map[string]any)) string {
	return p.Sign(map[string]any{
		"Type": sns.TypeNotification, "MessageId": id, "TopicArn": topic, "Subject": "subject", "Message": text,
		"Timestamp": "2026-03-02T09:14:07.318Z", "SignatureVersion": "2", "SigningCertURL": p.CertificateURL(),
	}, change...)
}

// Confirmation is a signed request to confirm a subscription.
func (p *Provider) Confirmation(topic, token string, change ...func(map[string]any)) string {
	return p.Sign(map[string]any{
		"Type": sns.TypeSubscription, "MessageId": "confirmation-" + token, "TopicArn": topic, "Message": "You have chosen to subscribe.",
		"Token": token, "SubscribeURL": "https://" + p.Host() + "/?Action=ConfirmSubscription&Token=" + token,
		"Timestamp": "2026-03-02T09:14:07.318Z", "SignatureVersion": "2", "SigningCertURL": p.CertificateURL(),
	}, change...)
}

// Sign adds the signature to the fields of a message and returns its JSON.
func (p *Provider) Sign(fields map[string]any, change ...func(map[string]any)) string {
	for _, apply := range change {
		apply(fields)
	}
	fields["Signature"] = "unsigned"
	m, err := sns.Parse(p.encode(fields))
	require.NoError(p.t, err)
	hash, digest := crypto.SHA256, sha256.Sum256([]byte(m.Content()))
	sum := digest[:]
	if m.SignatureVersion == "1" {
		old := sha1.Sum([]byte(m.Content()))
		hash, sum = crypto.SHA1, old[:]
	}
	signature, err := rsa.SignPKCS1v15(rand.Reader, p.key, hash, sum)
	require.NoError(p.t, err)
	fields["Signature"] = base64.StdEncoding.EncodeToString(signature)
	return p.encode(fields)
}

func (p *Provider) encode(fields map[string]any) string {
	text, err := json.Marshal(fields)
	require.NoError(p.t, err)
	return string(text)
}
