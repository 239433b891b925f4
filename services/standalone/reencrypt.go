package standalone

import (
	"context"
	"io"
	"log/slog"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/services/orchestration"
)

// Reencrypt encrypts every secret of a data directory that no server uses with the first of its keys, and prints its progress.
func Reencrypt(ctx context.Context, dataDir string, out io.Writer, log *slog.Logger) error {
	dir, err := existing(ctx, dataDir, log)
	if err != nil {
		return err
	}
	return offline(ctx, dir, log, func(ctx context.Context, _ *infra, _ *broker.Conn, domain *orchestration.Orchestration) error {
		return domain.Reencrypt(ctx, out)
	})
}
