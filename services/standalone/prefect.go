package standalone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
	"github.com/orch-project/orch/services/standalone/internal/prefectdb"
)

// ErrVerification reports resources that are not stored as they were read.
var ErrVerification = errors.New("the imported data differ from the Prefect database")

// errNoSecretsKey reports a database whose services have keys of their own, which the import needs.
var errNoSecretsKey = errors.New("ORCH_SECRETS_KEY is not set: it must be that of orchestration")

// PrefectImport says what to import.
type PrefectImport struct {
	// From is the address of the Prefect server's database.
	From string
	// Key decrypts the block documents; empty means the one in the database.
	Key string
	// Out gets the report.
	Out io.Writer
	// Progress gets the number of resources of a kind that were read.
	Progress Progress
}

// ImportPrefect copies the database of a Prefect server into a data directory that no server uses, or into a new one.
func ImportPrefect(ctx context.Context, dataDir string, how PrefectImport, log *slog.Logger) error {
	return how.run(ctx, func(do func(*orchestration.Data) error) error {
		dir, err := datadir.Open(dataDir, vocabulary.Prefect)
		if err != nil {
			return err
		}
		return withData(ctx, dir, true, log, do)
	})
}

// ImportPrefectDatabase is ImportPrefect into a database of a MongoDB server. ORCH_SECRETS_KEY is that of its services.
func ImportPrefectDatabase(ctx context.Context, uri, database string, how PrefectImport) error {
	return how.run(ctx, func(do func(*orchestration.Data) error) (err error) {
		settings, err := config.Load[orchestration.Config]()
		if err != nil {
			return err
		}
		if settings.Secrets.Empty() {
			return errNoSecretsKey
		}
		settings.MongoDBURI, settings.MongoDBDatabase = uri, database
		data, err := orchestration.OpenData(ctx, settings, nil, nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, data.Close(context.WithoutCancel(ctx))) }()
		return do(data)
	})
}

// run opens the source first: an error of it leaves the target as it is.
func (how PrefectImport) run(ctx context.Context, into func(do func(*orchestration.Data) error) error) (err error) {
	source, err := prefectdb.Open(ctx, how.From, how.Key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	return into(func(data *orchestration.Data) error {
		importer, err := data.Importer(ctx, vocabulary.Prefect)
		if err != nil {
			return err
		}
		report := &prefectReport{}
		for _, kind := range prefectdb.Kinds() {
			line, err := how.copy(ctx, source, importer, kind)
			if err != nil {
				return fmt.Errorf("import the %s: %w", kind.Name, err)
			}
			report.kinds = append(report.kinds, line)
		}
		if report.placeless, err = source.Placeless(ctx); err != nil {
			return err
		}
		return report.print(how.Out)
	})
}

// The bounds of one write.
const (
	importBatch      = 2000
	importBatchBytes = 4 << 20
)

// importedBatch are rows that are written together.
type importedBatch struct {
	rows []prefectdb.Row
	size int
}

// copy imports the resources of one kind. It reads ahead of the writes.
func (how PrefectImport) copy(ctx context.Context, source *prefectdb.Source, importer *orchestration.Importer, kind prefectdb.Kind) (*importedKind, error) {
	line := &importedKind{name: kind.Name}
	var err error
	if line.read, err = source.Count(ctx, kind); err != nil || line.read == 0 {
		return line, err
	}
	group, ctx := errgroup.WithContext(ctx)
	batches := make(chan importedBatch, 1)
	group.Go(func() error {
		defer close(batches)
		var batch importedBatch
		pass := func() error {
			select {
			case batches <- batch:
				batch = importedBatch{}
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		err := source.Each(ctx, kind, func(r prefectdb.Row) error {
			batch.rows = append(batch.rows, r)
			if r.Err == nil {
				batch.size += proto.Size(r.Resource)
			}
			if len(batch.rows) < importBatch && batch.size < importBatchBytes {
				return nil
			}
			return pass()
		})
		if err != nil {
			return err
		}
		return pass()
	})
	group.Go(func() error {
		for batch := range batches {
			if err := line.write(ctx, importer, batch.rows); err != nil {
				return err
			}
			how.Progress(kind.Name, line.handled(), line.read)
		}
		return nil
	})
	return line, group.Wait()
}
