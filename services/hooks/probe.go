package hooks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// ErrNotReady means that the service that was probed answers, but cannot serve requests.
var ErrNotReady = errors.New("the hooks service is not ready")

// Probe asks the service that runs with these settings on this machine whether it is ready, for containers that hold no
// other program to ask with.
func Probe(ctx context.Context, cfg Config) error {
	host, port, err := net.SplitHostPort(cfg.InternalListen)
	if err != nil {
		return fmt.Errorf("read the internal address %q: %w", cfg.InternalListen, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/ready", nil)
	if err != nil {
		return fmt.Errorf("probe the hooks service: %w", err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("probe the hooks service: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: status %d", ErrNotReady, response.StatusCode)
	}
	return nil
}
