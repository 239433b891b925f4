package orchestration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ErrUpgrade reports a database that this version cannot use.
var ErrUpgrade = errors.New("this version cannot use the database")

// CheckUpgrade prints the version, the version that used the database last, and what a start of this version would change in it. It
// writes nothing. ErrUpgrade means that the start would be refused. A nil dialer means TCP.
func CheckUpgrade(ctx context.Context, version string, cfg Config, dialer options.ContextDialer, out io.Writer) (err error) {
	s, err := store.Open(ctx, store.Config{
		URI: cfg.MongoDBURI, Database: cfg.MongoDBDatabase, Dialer: dialer, Clock: clock.System{}, IDs: id.System(),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	plan, err := s.PlanUpgrade(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "this version: %s\n", version)
	if plan.Found > 0 {
		fmt.Fprintf(out, "last version: %s\n", cmp.Or(plan.Program, "not recorded"))
	}
	switch {
	case plan.Found == 0:
		fmt.Fprintf(out, "new database: the start creates format %d\n", plan.Supported)
		return nil
	case plan.Found > plan.Supported:
		return fmt.Errorf("%w: it has format %d, this version supports %d", ErrUpgrade, plan.Found, plan.Supported)
	case plan.Vocabulary != cfg.Vocabulary.String() && plan.Vocabulary != vocabulary.Undecided.String():
		return fmt.Errorf("%w: it has the vocabulary %q, the settings have %q", ErrUpgrade, plan.Vocabulary, cfg.Vocabulary)
	case len(plan.Migrations) == 0:
		fmt.Fprintf(out, "format %d: nothing to migrate\n", plan.Found)
		return nil
	}
	fmt.Fprintf(out, "format %d: the start migrates to %d:\n", plan.Found, plan.Supported)
	for _, name := range plan.Migrations {
		fmt.Fprintf(out, "  %s\n", name)
	}
	return nil
}

// UpgradeCheck is CheckUpgrade as a task of the program of a version.
func UpgradeCheck(version string) func(context.Context, Config, io.Writer, *slog.Logger) error {
	return func(ctx context.Context, cfg Config, out io.Writer, _ *slog.Logger) error {
		return CheckUpgrade(ctx, version, cfg, nil, out)
	}
}
