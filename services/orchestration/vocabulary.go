package orchestration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/orchestration/internal/conversion"
	"github.com/orch-project/orch/services/orchestration/internal/leader"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ErrInUse reports a database or a broker that running services use.
var ErrInUse = errors.New("services use the data: stop gateway, hooks and orchestration first")

// ErrUnusedData reports a database that no server has used.
var ErrUnusedData = store.ErrUnused

// leasePoll is how often leases are read while they end.
const leasePoll = time.Second

// Data is the data of services that do not run: a database, and the broker's streams.
type Data struct {
	store  *store.Store
	broker *broker.Conn
	cfg    Config
}

// OpenData opens the database of the settings. A nil dialer means TCP; a nil broker means that there are no streams. The caller
// owns the broker.
func OpenData(ctx context.Context, cfg Config, dialer options.ContextDialer, conn *broker.Conn) (*Data, error) {
	s, err := store.Open(ctx, store.Config{
		URI: cfg.MongoDBURI, Database: cfg.MongoDBDatabase, Dialer: dialer, Clock: clock.System{}, IDs: id.System(),
	})
	if err != nil {
		return nil, err
	}
	return &Data{store: s, broker: conn, cfg: cfg}, nil
}

// Close closes the connection to the database.
func (d *Data) Close(ctx context.Context) error { return d.store.Close(ctx) }

// Vocabulary returns the mark of the database: a vocabulary, or a conversion that is not complete.
func (d *Data) Vocabulary(ctx context.Context) (string, error) { return d.store.Vocabulary(ctx) }

// Unused returns ErrInUse if services use the database or the broker now. A lease of a process that ended may have some seconds
// left: Unused waits whether it is renewed.
func (d *Data) Unused(ctx context.Context) error {
	seen := map[string]time.Time{}
	for {
		name, until, err := d.store.HeldLease(ctx)
		if err != nil {
			return err
		}
		if name == "" {
			break
		}
		before, again := seen[name]
		if again && until.After(before) || time.Until(until) > 2*leader.Duration {
			return fmt.Errorf("%w (the lease %q is held until %s)", ErrInUse, name, until.UTC().Format(time.TimeOnly))
		}
		seen[name] = until
		select {
		case <-time.After(leasePoll):
		case <-ctx.Done():
			return fmt.Errorf("wait for leases to end: %w", ctx.Err())
		}
	}
	if d.broker == nil {
		return nil
	}
	stream, err := d.broker.InUse(ctx)
	if err == nil && stream != "" {
		err = fmt.Errorf("%w (the stream %s of the broker is read)", ErrInUse, stream)
	}
	return err
}

// Conversion says how to convert the names of the server in stored data.
type Conversion struct {
	To vocabulary.Vocabulary
	// DryRun reports what would change, and writes nothing.
	DryRun bool
	// Out gets the report.
	Out io.Writer
	// Progress gets the number of documents that were read of a collection; total is an estimate.
	Progress func(collection string, done, total int64)
}

// Convert converts the data to a vocabulary. Data in that vocabulary stays as it is. An interrupted conversion continues; until
// it is complete, no server starts on the data.
func (d *Data) Convert(ctx context.Context, how Conversion) error {
	mark, err := d.Vocabulary(ctx)
	if err != nil {
		return err
	}
	under, converting := vocabulary.ParseConversion(mark)
	switch {
	case mark == how.To.String():
		_, err := fmt.Fprintf(how.Out, "the data has the vocabulary %s already\n", mark)
		return err
	case converting && under.To != how.To:
		return under.Err()
	case converting && how.DryRun:
		return under.Err()
	case !converting && mark != how.To.Other().String():
		return fmt.Errorf("convert to the vocabulary %s: %w: the data has the vocabulary %q", how.To, store.ErrFormat, mark)
	}
	report := conversion.NewReport(how.Out)
	converter := conversion.New(conversion.Config{
		Store: d.store, Broker: d.broker, Keys: d.cfg.Secrets, To: how.To, Report: report, Progress: how.Progress,
	})
	if how.DryRun {
		err = converter.Survey(ctx)
	} else {
		err = converter.Convert(ctx)
	}
	if err != nil {
		return fmt.Errorf("convert to the vocabulary %s: %w", how.To, err)
	}
	return report.Print()
}
