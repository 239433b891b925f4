package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// ErrNotReady means that a service that was probed answers, but cannot serve requests.
var ErrNotReady = errors.New("the service is not ready")

// probeTimeout bounds a probe; the one who asks has a time-out of its own that is longer.
const probeTimeout = 3 * time.Second

// Probe asks the service that listens on an address of this machine whether it is ready, for containers that hold no
// other program to ask with.
func Probe(ctx context.Context, listen, path string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("read the listen address %q: %w", listen, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return fmt.Errorf("probe the service: %w", err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("probe the service: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: status %d", ErrNotReady, response.StatusCode)
	}
	return nil
}
