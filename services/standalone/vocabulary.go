package standalone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
)

// Vocabulary returns the vocabulary of a data directory that no server uses, or the mark of a conversion that is not complete.
func Vocabulary(ctx context.Context, dataDir string, log *slog.Logger) (mark string, err error) {
	if mark, err = datadir.VocabularyMark(dataDir); !errors.Is(err, datadir.ErrUnmarked) {
		return mark, err
	}
	err = withData(ctx, datadir.Dir{Path: dataDir}, false, log, func(d *orchestration.Data) error {
		mark, err = d.Vocabulary(ctx)
		return err
	})
	return mark, err
}

// ConvertVocabulary converts a data directory that no server uses. The mark of the directory changes before the first document,
// and again after the last one.
func ConvertVocabulary(ctx context.Context, dataDir string, how orchestration.Conversion, log *slog.Logger) error {
	mark, err := datadir.VocabularyMark(dataDir)
	marked := !errors.Is(err, datadir.ErrUnmarked) // `orch infra` does not mark its directory.
	if err != nil && marked {
		return err
	}
	dir := datadir.Dir{Path: dataDir}
	return withData(ctx, dir, true, log, func(d *orchestration.Data) error {
		found, err := d.Vocabulary(ctx)
		if errors.Is(err, orchestration.ErrUnusedData) && marked && !how.DryRun {
			return dir.Mark(how.To) // The directory has no names yet.
		}
		if err != nil {
			return err
		}
		if marked && !how.DryRun && found != how.To.String() && mark == how.To.Other().String() {
			if err := dir.MarkConversion(vocabulary.Conversion{From: how.To.Other(), To: how.To}); err != nil {
				return err
			}
		}
		if err := d.Convert(ctx, how); err != nil || how.DryRun || !marked {
			return err
		}
		return dir.Mark(how.To)
	})
}

// withData opens the store of a data directory, and its streams if it has some.
func withData(ctx context.Context, dir datadir.Dir, streams bool, log *slog.Logger, do func(*orchestration.Data) error) (err error) {
	if err := dir.NoBackup(); err != nil {
		return err
	}
	settings, err := config.Load[orchestration.Config]()
	if err != nil {
		return err
	}
	if settings.Secrets, err = dir.Secrets(settings.Secrets); err != nil {
		return err
	}
	parts, err := openParts(dir, streams && dir.HasStreams(), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, parts.Close()) }()
	var conn *broker.Conn
	if parts.nats != nil {
		if conn, err = broker.Connect(ctx, broker.Config{InProcess: parts.nats.InProcess(), Logger: log}); err != nil {
			return fmt.Errorf("connect to the embedded broker: %w", err)
		}
		defer conn.Close()
	}
	settings.MongoDBURI, settings.MongoDBDatabase = parts.store.URI(), databaseName
	data, err := orchestration.OpenData(ctx, settings, parts.store.ContextDialer(), conn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, data.Close(context.WithoutCancel(ctx))) }()
	return do(data)
}

// DatabaseVocabulary returns the vocabulary of a database of a MongoDB server, or the mark of a conversion that is not complete.
func DatabaseVocabulary(ctx context.Context, uri, database string) (mark string, err error) {
	data, err := orchestration.OpenData(ctx, orchestration.Config{MongoDBURI: uri, MongoDBDatabase: database}, nil, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, data.Close(context.WithoutCancel(ctx))) }()
	return data.Vocabulary(ctx)
}

// ConvertDatabaseVocabulary converts a database of a MongoDB server, and the broker of its services. The settings of the
// orchestration service name the broker and the keys of secrets.
func ConvertDatabaseVocabulary(ctx context.Context, uri, database string, how orchestration.Conversion, log *slog.Logger) (err error) {
	settings, err := config.Load[orchestration.Config]()
	if err != nil {
		return err
	}
	settings.MongoDBURI, settings.MongoDBDatabase = uri, database
	conn, err := broker.Connect(ctx, settings.Broker.Config("orch-vocabulary", log))
	if err != nil {
		return fmt.Errorf("connect to the broker of ORCH_NATS_URL: %w", err)
	}
	defer conn.Close()
	data, err := orchestration.OpenData(ctx, settings, nil, conn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, data.Close(context.WithoutCancel(ctx))) }()
	if err := data.Unused(ctx); err != nil {
		return err
	}
	return data.Convert(ctx, how)
}
