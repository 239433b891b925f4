package store

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/auth"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// retryInterval is the time between attempts to reach a database that does not respond.
const retryInterval = 500 * time.Millisecond

// authenticationFailed is the server's error code for wrong credentials.
const authenticationFailed = 18

// establish checks the server. With Config.Wait it retries while the database does not respond, and logs the outage once.
func (s *Store) establish(ctx context.Context, cfg Config) error {
	log := cmp.Or(cfg.Log, slog.Default())
	var since time.Time
	for {
		err := s.Ping(ctx)
		if err == nil {
			err = s.checkServer(ctx)
		}
		err = refusal(err)
		switch {
		case err == nil && !since.IsZero():
			log.InfoContext(ctx, "database is available", "after", time.Since(since).Round(time.Millisecond))
			return nil
		case err == nil, !cfg.Wait, !errors.Is(err, ErrUnavailable):
			return err
		}
		if since.IsZero() {
			since = time.Now()
			log.WarnContext(ctx, "failed to connect to the database, retrying", "error", err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryInterval):
		}
	}
}

// refusal recognises a server that responds and refuses this client: retries do not help. The message names the remedy.
func refusal(err error) error {
	for _, cause := range causes(err) {
		var credentials *auth.Error
		var server mongo.ServerError
		var certificate *tls.CertificateVerificationError
		var alert tls.AlertError
		var record tls.RecordHeaderError
		switch {
		case errors.As(cause, &credentials), errors.As(cause, &server) && server.HasErrorCode(authenticationFailed):
			return fmt.Errorf("%w: authentication failed: check user, password and authSource in ORCH_MONGODB_URI", ErrServer)
		case errors.As(cause, &certificate):
			return fmt.Errorf("%w: %w: check tlsCAFile and the host in ORCH_MONGODB_URI, and the expiry of the certificate", ErrServer, certificate)
		case errors.As(cause, &alert):
			return fmt.Errorf("%w: the client certificate was refused (%w): check tlsCertificateKeyFile in ORCH_MONGODB_URI", ErrServer, alert)
		case errors.As(cause, &record):
			return fmt.Errorf("%w: the server has no TLS: remove tls=true from ORCH_MONGODB_URI, or configure TLS on the server", ErrServer)
		}
	}
	return err
}

// causes are an error and, when no server could be selected, the last error of each server.
func causes(err error) []error {
	if err == nil {
		return nil
	}
	all := []error{err}
	if selection, ok := errors.AsType[topology.ServerSelectionError](err); ok {
		for _, server := range selection.Desc.Servers {
			if server.LastError != nil {
				all = append(all, server.LastError)
			}
		}
	}
	return all
}
