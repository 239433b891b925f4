package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/orch-project/orch/pkg/clock"
)

// Forever is the Config.ConnectTimeout with which Connect waits until its context ends.
const Forever time.Duration = 1<<63 - 1

// retryInterval is the time between attempts to connect.
const retryInterval = 200 * time.Millisecond

// establish connects and prepares the server. It retries while no server responds, and logs the outage once.
func (c *Conn) establish(ctx context.Context) error {
	var since time.Time
	for {
		retry, err := c.tryConnect(ctx)
		switch {
		case err == nil && since.IsZero():
			return nil
		case err == nil:
			c.log.InfoContext(ctx, "broker is available", "after", time.Since(since).Round(time.Millisecond))
			return nil
		case !retry:
			return err
		}
		if since.IsZero() {
			since = time.Now()
			c.log.WarnContext(ctx, "failed to connect to the broker, retrying", "error", err)
		}
		if !clock.Pause(ctx, retryInterval) {
			return err
		}
	}
}

// tryConnect makes one attempt. retry reports whether another one may succeed.
func (c *Conn) tryConnect(ctx context.Context) (retry bool, err error) {
	c.nc, err = nats.Connect(c.cfg.URL, c.options()...)
	if err != nil {
		if remedy := refusalRemedy(err); remedy != "" {
			return false, fmt.Errorf("%w: %w: %s", ErrRefused, err, remedy)
		}
		return true, fmt.Errorf("connecting to the broker: %w: %w", ErrUnavailable, err)
	}
	err = c.prepare(ctx)
	if err == nil {
		return false, nil
	}
	c.nc.Close()
	return temporary(err), err
}

// temporary reports whether another attempt may succeed after an error that [unavailable] marked.
func temporary(err error) bool {
	if response, ok := errors.AsType[*jetstream.APIError](err); ok {
		return response.Code == temporarilyUnavailable
	}
	return errors.Is(err, ErrUnavailable)
}

// temporarilyUnavailable is the code of JetStream's errors that go away, such as a cluster without a leader.
const temporarilyUnavailable = 503

// refusalRemedy returns the change that an operator must make after a server refused the connection; empty when a retry may help.
func refusalRemedy(err error) string {
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked),
		errors.Is(err, nats.ErrAccountAuthExpired):
		return "check the user and password in ORCH_NATS_URL, or the credentials file"
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "the server has no TLS: write nats:// in ORCH_NATS_URL, or configure tls on the server"
	case errors.Is(err, nats.ErrSecureConnRequired), errors.As(err, &record):
		return "write tls:// in ORCH_NATS_URL"
	case errors.As(err, &certificate):
		return "check ORCH_NATS_CA, the host in ORCH_NATS_URL and the expiry of the server's certificate"
	case errors.As(err, &alert):
		return "the server refused the client certificate: check ORCH_NATS_CERT and its CA on the server"
	}
	return ""
}
