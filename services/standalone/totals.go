package standalone

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/services/orchestration"
)

// CheckTotals counts the stored hours of a data directory that no server uses again, and prints those that differ.
func CheckTotals(ctx context.Context, path string, check orchestration.TotalsCheck, out io.Writer, log *slog.Logger) (err error) {
	dir, err := existing(ctx, path, log)
	if err != nil {
		return err
	}
	server, err := embeddedmongo.Open(dir.Store(), embeddedmongo.Options{Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	return orchestration.CheckTotals(ctx, orchestration.Config{MongoDBURI: server.URI(), MongoDBDatabase: databaseName}, server.ContextDialer(), check, out)
}
