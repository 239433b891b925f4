package authn

import (
	"errors"
	"fmt"
	"net"

	"github.com/orch-project/orch/services/gateway/internal/address"
)

// ErrExposed means that a server without authentication would be reachable from other machines.
var ErrExposed = errors.New("without authentication the server listens on loopback only; set ORCH_AUTH_BASIC, or allow it with --insecure (ORCH_INSECURE)")

// CheckExposure returns ErrExposed when the listen address is no loopback address.
func CheckExposure(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("read the listen address %q: %w", listen, err)
	}
	if !address.Loopback(address.Hostname(host)) {
		return fmt.Errorf("listen on %s: %w", listen, ErrExposed)
	}
	return nil
}
