package standalone

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/services/orchestration"
)

// CheckUpgrade prints what a start of this version would change in the store of a data directory that no server uses. It
// changes no document.
func CheckUpgrade(ctx context.Context, path string, out io.Writer, log *slog.Logger) (err error) {
	dir, err := existing(ctx, path, log)
	if err != nil {
		return err
	}
	server, err := embeddedmongo.Open(dir.Store(), embeddedmongo.Options{Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	return orchestration.CheckUpgrade(ctx, orchestration.Config{
		MongoDBURI: server.URI(), MongoDBDatabase: databaseName, Vocabulary: dir.Vocabulary,
	}, server.ContextDialer(), out)
}
