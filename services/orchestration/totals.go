package orchestration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/services/orchestration/internal/hourtotals"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ErrTotals reports stored hours whose counts differ from their documents.
var ErrTotals = errors.New("counts of stored hours differ from their documents")

// TotalsCheck says which stored hours CheckTotals counts again.
type TotalsCheck struct {
	// Since is the beginning of the first hour; the zero time means all hours.
	Since time.Time
	// Repair replaces counts that differ.
	Repair bool
}

// CheckTotals counts the stored hours again, and prints those that differ. Services may run meanwhile. It returns ErrTotals if some differ
// and are not repaired. A nil dialer means TCP.
func CheckTotals(ctx context.Context, cfg Config, dialer options.ContextDialer, check TotalsCheck, out io.Writer) (err error) {
	s, err := store.Open(ctx, store.Config{
		URI: cfg.MongoDBURI, Database: cfg.MongoDBDatabase, Dialer: dialer, Clock: clock.System{}, IDs: id.System(),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	var wrong int
	checked, err := s.Totals().CheckAll(ctx, check.Since, check.Repair, func(h hourtotals.StoredHour) error {
		wrong++
		_, err := fmt.Fprintf(out, "%s of %ss in workspace %s differs\n", h.Start.UTC().Format(time.RFC3339), h.Kind.Collection, h.Workspace)
		return err
	})
	if err != nil {
		return err
	}
	verdict := "as their documents"
	switch {
	case wrong > 0 && check.Repair:
		verdict = fmt.Sprintf("%d repaired", wrong)
	case wrong > 0:
		verdict = fmt.Sprintf("%d differ", wrong)
	}
	if _, err := fmt.Fprintf(out, "hours %d, %s\n", checked, verdict); err != nil {
		return err
	}
	if wrong > 0 && !check.Repair {
		return fmt.Errorf("%w: %d of %d", ErrTotals, wrong, checked)
	}
	return nil
}

// TotalsCheckTask is CheckTotals of all hours as a task of the program.
func TotalsCheckTask(ctx context.Context, cfg Config, out io.Writer, _ *slog.Logger) error {
	return CheckTotals(ctx, cfg, nil, TotalsCheck{}, out)
}

// TotalsRepairTask is TotalsCheckTask, and repairs what differs.
func TotalsRepairTask(ctx context.Context, cfg Config, out io.Writer, _ *slog.Logger) error {
	return CheckTotals(ctx, cfg, nil, TotalsCheck{Repair: true}, out)
}
