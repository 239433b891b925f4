package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/orch-project/orch/pkg/tlsfiles"
)

// ServerCredentials demand a certificate of the CA from every client, with one of the names if there are any. Nil files mean
// plaintext.
func ServerCredentials(files *tlsfiles.Files, clients ...string) credentials.TransportCredentials {
	if files == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(files.ServerFor(clients))
}

// ClientCredentials present the certificate of the files, and check the server's. Nil files mean plaintext.
func ClientCredentials(files *tlsfiles.Files, log *slog.Logger) credentials.TransportCredentials {
	if files == nil {
		return insecure.NewCredentials()
	}
	return &reloading{
		TransportCredentials: credentials.NewTLS(files.Client("")), files: files, log: log,
		limit: &rate.Sometimes{First: 1, Interval: time.Minute},
	}
}

// reloading are credentials whose every handshake uses the current files: a TLS configuration fixes the CA.
type reloading struct {
	credentials.TransportCredentials
	files *tlsfiles.Files
	log   *slog.Logger
	limit *rate.Sometimes
}

// ClientHandshake implements credentials.TransportCredentials.
func (r *reloading) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	host, _, err := net.SplitHostPort(authority)
	if err != nil {
		host = authority
	}
	secured, info, err := credentials.NewTLS(r.files.Client(host)).ClientHandshake(ctx, authority, conn)
	if err != nil {
		r.limit.Do(func() {
			r.log.WarnContext(ctx, "failed to complete the TLS handshake with a service", "service", host, "error", err)
		})
		return nil, nil, fmt.Errorf("TLS handshake with %s: %w", host, err)
	}
	return secured, info, nil
}

// Clone implements credentials.TransportCredentials.
func (r *reloading) Clone() credentials.TransportCredentials {
	return &reloading{r.TransportCredentials.Clone(), r.files, r.log, r.limit}
}
