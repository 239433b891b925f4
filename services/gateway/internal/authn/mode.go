package authn

import (
	"errors"
	"fmt"
	"net"

	"github.com/orch-project/orch/services/gateway/internal/address"
)

// ErrExposed means that a server without authentication would be reachable from other machines.
var ErrExposed = errors.New("without authentication the server is reached on loopback only; set ORCH_AUTH=keys or ORCH_AUTH_BASIC, or allow it with --insecure (ORCH_INSECURE)")

// CheckExposure returns ErrExposed when the address that a server is reached on is no loopback address.
func CheckExposure(reached string) error {
	host, _, err := net.SplitHostPort(reached)
	if err != nil {
		return fmt.Errorf("read the listen address %q: %w", reached, err)
	}
	if !address.Loopback(address.Hostname(host)) {
		return fmt.Errorf("listen on %s: %w", reached, ErrExposed)
	}
	return nil
}

// Mode is how a server learns who asks.
type Mode string

// The modes.
const (
	None  Mode = "none"
	Basic Mode = "basic"
	ByKey Mode = "keys"
)

// ErrMode means that the setting is no mode, or contradicts another one.
var ErrMode = errors.New("the authentication is none, basic (with ORCH_AUTH_BASIC) or keys")

// ParseMode reads the setting; empty means basic where there is a password, else none.
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
