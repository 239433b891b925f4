package standalone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
)

// offline runs a function on a data directory that no server uses. It starts the workers that store what the streams
// still hold, and no background task: the function alone decides on the stored documents.
func offline(ctx context.Context, dir datadir.Dir, log *slog.Logger, do func(context.Context, *infra, *broker.Conn, *orchestration.Orchestration) error) (err error) {
	settings, err := config.Load[orchestration.Config]()
	if err != nil {
		return err
	}
	keys, err := dir.Secrets(settings.Secrets)
	if err != nil {
		return err
	}
	parts, err := openInfra(dir, embeddednats.Options{}, embeddedmongo.Options{}, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, parts.Close()) }()
	conn, err := broker.Connect(ctx, broker.Config{InProcess: parts.nats.InProcess(), Logger: log})
	if err != nil {
		return fmt.Errorf("connect to the embedded broker: %w", err)
	}
	defer conn.Close()
	settings.MongoDBURI, settings.MongoDBDatabase, settings.Vocabulary, settings.Secrets = parts.store.URI(), databaseName, dir.Vocabulary, keys
	settings.Auth = "" // The work has no callers.
	settings.Timers = orchestration.Timers{}
	domain, err := orchestration.New(ctx, settings, orchestration.Deps{
		Broker: conn, Dialer: parts.store.ContextDialer(), Log: log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, domain.Close(context.WithoutCancel(ctx))) }()

	ctx, done := context.WithCancel(ctx)
	defer done()
	group := run.NewGroup(run.Options{Logger: log})
	group.Add(domain.Workers()...)
	var result error
	group.Add(run.Func("offline work", func(ctx context.Context) error {
		result = do(ctx, parts, conn, domain)
		done()
		<-ctx.Done()
		return nil
	}))
	return errors.Join(group.Run(ctx), result)
}
