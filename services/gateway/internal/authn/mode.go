package authn

import (
	"errors"
	"fmt"
	"net"

	"github.com/orch-project/orch/pkg/clientaddr"
)

// ErrExposed reports that other machines could reach a server without authentication.
var ErrExposed = errors.New("a server without authentication must listen on a loopback address; set ORCH_AUTH=keys or ORCH_AUTH_BASIC, or allow it with --insecure (ORCH_INSECURE)")

// CheckExposure returns ErrExposed if a server's address is not a loopback address.
func CheckExposure(reached string) error {
	host, _, err := net.SplitHostPort(reached)
	if err != nil {
		return fmt.Errorf("read the listen address %q: %w", reached, err)
	}
	if !clientaddr.Loopback(clientaddr.Hostname(host)) {
		return fmt.Errorf("listen on %s: %w", reached, ErrExposed)
	}
	return nil
}

// Mode is an authentication mode.
type Mode string

// The authentication modes.
const (
	None  Mode = "none"
	Basic Mode = "basic"
	ByKey Mode = "keys"
)

// ErrMode reports an unknown mode, or one that contradicts another setting.
var ErrMode = errors.New("the authentication mode must be none, basic (with ORCH_AUTH_BASIC) or keys")

// ParseMode parses the setting. Empty means basic if there is a password, else none.
func ParseMode(setting string, password bool) (Mode, error) {
	switch mode := Mode(setting); {
	case mode == "" && password:
		return Basic, nil
	case mode == "":
		return None, nil
	case mode == Basic && password, mode == None && !password, mode == ByKey && !password:
		return mode, nil
	}
	return "", ErrMode
}
