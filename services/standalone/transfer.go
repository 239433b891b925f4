package standalone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
	"github.com/orch-project/orch/services/standalone/internal/transfer"
)

// Progress receives the number of copied documents of a collection; total is an estimate.
type Progress = transfer.Progress

// Export copies a data directory that no server uses into an empty database of a MongoDB server.
func Export(ctx context.Context, dataDir, uri, database string, progress Progress, log *slog.Logger) error {
	dir, err := existing(ctx, dataDir, log)
	if err != nil {
		return err
	}
	return offline(ctx, dir, log, func(ctx context.Context, parts *infra, conn *broker.Conn, _ *orchestration.Orchestration) error {
		if err := conn.WaitHandled(ctx, broker.DurablePersist); err != nil {
			return fmt.Errorf("store pending events: %w", err)
		}
		return between(ctx, parts.store, uri, func(embedded, remote *mongo.Client) error {
			return transfer.Copy(ctx, embedded.Database(databaseName), remote.Database(database), progress)
		})
	})
}

// Import copies a database of a MongoDB server into a new data directory, in the database's vocabulary.
func Import(ctx context.Context, uri, database, dataDir string, progress Progress, log *slog.Logger) (err error) {
	dir, err := datadir.New(dataDir)
	if err != nil {
		return err
	}
	store, err := embeddedmongo.Open(dir.Store(), embeddedmongo.Options{Logger: log})
	if err != nil {
		return fmt.Errorf("open %s: %w", dataDir, err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return between(ctx, store, uri, func(embedded, remote *mongo.Client) error {
		vocab, err := transfer.Vocabulary(ctx, remote.Database(database))
		if err != nil {
			return err
		}
		if err := transfer.Copy(ctx, remote.Database(database), embedded.Database(databaseName), progress); err != nil {
			return err
		}
		return dir.Mark(vocab)
	})
}

// between connects to the embedded store and to a server.
func between(ctx context.Context, store *embeddedmongo.Server, uri string, do func(embedded, remote *mongo.Client) error) (err error) {
	embedded, err := mongo.Connect(options.Client().ApplyURI(store.URI()).SetDialer(store.ContextDialer()))
	if err != nil {
		return fmt.Errorf("connect to the embedded store: %w", err)
	}
	defer func() { err = errors.Join(err, embedded.Disconnect(context.WithoutCancel(ctx))) }()
	remote, err := mongo.Connect(options.Client().ApplyURI(uri).SetAppName("orch"))
	if err != nil {
		return fmt.Errorf("connect to the MongoDB server: %w", err)
	}
	defer func() { err = errors.Join(err, remote.Disconnect(context.WithoutCancel(ctx))) }()
	return do(embedded, remote)
}
