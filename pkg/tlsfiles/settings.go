package tlsfiles

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Settings name the files; either all are set or none.
type Settings struct {
	Cert string `env:"ORCH_TLS_CERT" desc:"The path of the certificate (PEM) for connections between the services; the service reads it again when it changes. Set it together with ORCH_TLS_KEY and ORCH_TLS_CA."`
	Key  string `env:"ORCH_TLS_KEY" desc:"The path of the key (PEM) of ORCH_TLS_CERT."`
	CA   string `env:"ORCH_TLS_CA" desc:"The path of the certificates (PEM) of the authority that signs the certificates of the other services."`
}

// Enabled reports whether the services use TLS.
func (s Settings) Enabled() bool { return s != Settings{} }

// Validate checks that the settings are complete, and that the files can be used now: a service with an expired certificate
// says so before it waits for others.
func (s Settings) Validate() error {
	if !s.Enabled() {
		return nil
	}
	for _, path := range []string{s.Cert, s.Key, s.CA} {
		if path == "" {
			return errors.New("ORCH_TLS_CERT, ORCH_TLS_KEY, ORCH_TLS_CA: set all three or none")
		}
		if strings.Contains(path, "-----BEGIN") {
			return errors.New("ORCH_TLS_CERT, ORCH_TLS_KEY, ORCH_TLS_CA: must be paths of files, not their content")
		}
	}
	_, err := Load(s, Options{})
	return err
}

// ErrExposed reports an unauthenticated plaintext listener that other machines reach.
var ErrExposed = errors.New("other machines reach this address, and it is plaintext")

// CheckPlaintext returns ErrExposed for a listen address that is not loopback.
func CheckPlaintext(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("parse listen address %q: %w", listen, err)
	}
	ip, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && ip.Unmap().IsLoopback() {
		return nil
	}
	return fmt.Errorf("listen on %s: %w", listen, ErrExposed)
}
