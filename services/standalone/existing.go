package standalone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
	"github.com/orch-project/orch/services/standalone/internal/transfer"
)

// errUnused reports a store that no orchestration service has used.
var errUnused = errors.New("no orchestration service has used the store")

// existing opens a data directory of `orch server` or `orch infra` that no process uses, and refuses a backup. `orch infra` does not know
// the vocabulary of its services, so the store says it.
func existing(ctx context.Context, path string, log *slog.Logger) (_ datadir.Dir, err error) {
	dir, err := datadir.Existing(path)
	switch {
	case err == nil:
		return dir, dir.NoBackup()
	case !errors.Is(err, datadir.ErrUnmarked):
		return dir, err
	}
	store, err := embeddedmongo.Open(dir.Store(), embeddedmongo.Options{Logger: log})
	if err != nil {
		return dir, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	dir.Vocabulary, err = vocabularyOf(ctx, store)
	return dir, err
}

// settle returns an undecided directory with the vocabulary of its store, and marks it. Services beside `orch infra` may have
// decided.
func settle(ctx context.Context, dir datadir.Dir, store *embeddedmongo.Server) (datadir.Dir, error) {
	vocab, err := vocabularyOf(ctx, store)
	if errors.Is(err, errUnused) {
		vocab, err = vocabulary.Undecided, nil
	}
	if err != nil {
		return dir, err
	}
	dir.Vocabulary = vocab
	return dir, dir.Mark(vocab)
}

// vocabularyOf returns the vocabulary that the services of a store have written into it.
func vocabularyOf(ctx context.Context, store *embeddedmongo.Server) (_ vocabulary.Vocabulary, err error) {
	client, err := mongo.Connect(options.Client().ApplyURI(store.URI()).SetDialer(store.ContextDialer()))
	if err != nil {
		return vocabulary.Vocabulary{}, fmt.Errorf("connect to the embedded store: %w", err)
	}
	defer func() { err = errors.Join(err, client.Disconnect(context.WithoutCancel(ctx))) }()
	vocab, err := transfer.Vocabulary(ctx, client.Database(databaseName))
	if errors.Is(err, mongo.ErrNoDocuments) {
		return vocab, fmt.Errorf("read mark of database %s: %w", databaseName, errUnused)
	}
	return vocab, err
}
