package standalone

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/services/orchestration"
)

// CheckUpgrade prints the version, the version that used a data directory last, and what a start of this version would change in its store.
// No server uses the directory. The check changes no document.
func CheckUpgrade(ctx context.Context, version, path string, out io.Writer, log *slog.Logger) (err error) {
	dir, err := existing(ctx, path, log)
	if err != nil {
		return err
	}
	server, err := embeddedmongo.Open(dir.Store(), embeddedmongo.Options{Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	return orchestration.CheckUpgrade(ctx, version, orchestration.Config{
		MongoDBURI: server.URI(), MongoDBDatabase: databaseName, Vocabulary: dir.Vocabulary,
	}, server.ContextDialer(), out)
}
