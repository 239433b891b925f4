package tlsfiles

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/clock"
)

// checkInterval is how long the files are trusted to be unchanged.
const checkInterval = time.Second

// Files are a certificate, its key and a CA. They are safe for concurrent use.
type Files struct {
	settings Settings
	clock    clock.Clock
	log      *slog.Logger

	mu      sync.Mutex
	current *pair
	checked time.Time
	failure string // The last logged failure to read the files again; empty after a success.
}

// pair is the content of the files.
type pair struct {
	certificate tls.Certificate
	ca          *x509.CertPool
	versions    [3]version
}

// version identifies the content of a file without reading it.
type version struct {
	modified time.Time
	size     int64
}

// Options configure Load. The zero value selects the defaults.
type Options struct {
	// Clock defaults to the machine's.
	Clock clock.Clock
	// Log gets failures to read the files again. Default slog.Default().
	Log *slog.Logger
}

// Load reads the files. Disabled settings give nil.
func Load(s Settings, o Options) (*Files, error) {
	if !s.Enabled() {
		return nil, nil
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	current, err := read(s)
	if err != nil {
		return nil, err
	}
	if err := current.valid(o.Clock.Now()); err != nil {
		return nil, err
	}
	return &Files{
		settings: s, clock: o.Clock, log: cmp.Or(o.Log, slog.Default()).With("component", "tls"), current: current, checked: o.Clock.Now(),
	}, nil
}

// Server returns the configuration of a listener that demands a certificate of the CA from clients, or accepts clients
// without one.
func (f *Files) Server(clients tls.ClientAuthType) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			now := f.latest()
			return &tls.Config{
				MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{now.certificate}, ClientCAs: now.ca, ClientAuth: clients,
				NextProtos: []string{"h2", "http/1.1"},
			}, nil
		},
	}
}

// ErrClient refuses a client whose certificate names none of those that may call.
var ErrClient = errors.New("the certificate of the client names none of the services that may call")

// ServerFor is Server with client certificates that have one of these DNS names, or it as their common name. Without names it is
// Server for every certificate of the CA.
func (f *Files) ServerFor(names []string) *tls.Config {
	base := f.Server(tls.RequireAndVerifyClientCert)
	if len(names) == 0 {
		return base
	}
	return &tls.Config{
		MinVersion: base.MinVersion,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			config, err := base.GetConfigForClient(hello)
			if err == nil {
				config.VerifyConnection = func(state tls.ConnectionState) error { return checkClient(state, names) }
			}
			return config, err
		},
	}
}

func checkClient(state tls.ConnectionState, names []string) error {
	leaf := state.PeerCertificates[0] // The configuration demands one.
	for _, name := range append(slices.Clone(leaf.DNSNames), leaf.Subject.CommonName) {
		if name != "" && slices.ContainsFunc(names, func(allowed string) bool { return strings.EqualFold(allowed, name) }) {
			return nil
		}
	}
	return fmt.Errorf("%w: %q (ORCH_TLS_CLIENTS)", ErrClient, append(slices.Clone(leaf.DNSNames), leaf.Subject.CommonName))
}

// Client returns the configuration of one connection to another service, whose certificate must name the host.
func (f *Files) Client(host string) *tls.Config {
	now := f.latest()
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{now.certificate}, RootCAs: now.ca, ServerName: host,
	}
}

// latest is the current content, read again if it changed.
func (f *Files) latest() *pair {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	if now.Sub(f.checked) < checkInterval {
		return f.current
	}
	f.checked = now
	if versions, err := f.settings.versions(); err == nil && versions == f.current.versions {
		f.failure = ""
		return f.current
	}
	next, err := read(f.settings)
	if err == nil {
		err = next.valid(now)
	}
	if err != nil {
		if err.Error() != f.failure { // Not at each handshake.
			f.log.Warn("failed to read the certificate again; the previous one stays in use", "error", err)
			f.failure = err.Error()
		}
		return f.current
	}
	f.failure = ""
	f.log.Info("certificate was read again", "expires", next.certificate.Leaf.NotAfter)
	f.current = next
	return next
}

// read reads and parses the files.
func read(s Settings) (*pair, error) {
	p := &pair{}
	var err error
	if p.versions, err = s.versions(); err != nil {
		return nil, err
	}
	if p.certificate, err = tls.LoadX509KeyPair(s.Cert, s.Key); err != nil {
		return nil, fmt.Errorf("ORCH_TLS_CERT, ORCH_TLS_KEY: %w", err)
	}
	text, err := os.ReadFile(s.CA)
	if err != nil {
		return nil, fmt.Errorf("ORCH_TLS_CA: %w", err)
	}
	p.ca = x509.NewCertPool()
	if !p.ca.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("ORCH_TLS_CA: %s has no certificate in PEM", s.CA)
	}
	return p, nil
}

// versions are those of certificate, key and CA.
func (s Settings) versions() (versions [3]version, err error) {
	for i, path := range []string{s.Cert, s.Key, s.CA} {
		info, err := os.Stat(path)
		if err != nil {
			return versions, fmt.Errorf("read TLS file: %w", err)
		}
		versions[i] = version{info.ModTime(), info.Size()}
	}
	return versions, nil
}

// errExpired reports a certificate outside its time.
var errExpired = errors.New("certificate is not valid now")

// valid checks the time of the certificate, and that the CA signed it: a certificate of another CA is refused by all other
// services.
func (p *pair) valid(now time.Time) error {
	leaf := p.certificate.Leaf
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return fmt.Errorf("ORCH_TLS_CERT: %w: it is valid from %s to %s: renew it", errExpired,
			leaf.NotBefore.Format(time.RFC3339), leaf.NotAfter.Format(time.RFC3339))
	}
	intermediates := x509.NewCertPool()
	for _, der := range p.certificate.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			intermediates.AddCert(c)
		}
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: p.ca, Intermediates: intermediates, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return fmt.Errorf("ORCH_TLS_CERT: %w: sign it with ORCH_TLS_CA", err)
	}
	return nil
}
