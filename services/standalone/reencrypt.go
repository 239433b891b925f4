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
	return withSecrets(ctx, dataDir, out, log, (*orchestration.Orchestration).Reencrypt)
}

// ReencryptionStatus prints how many secrets of such a directory are encrypted with the first of its keys, and how many are left.
func ReencryptionStatus(ctx context.Context, dataDir string, out io.Writer, log *slog.Logger) error {
	return withSecrets(ctx, dataDir, out, log, (*orchestration.Orchestration).ReencryptionStatus)
}

func withSecrets(
	ctx context.Context, dataDir string, out io.Writer, log *slog.Logger,
	do func(domain *orchestration.Orchestration, ctx context.Context, out io.Writer) error,
) error {
	dir, err := existing(ctx, dataDir, log)
	if err != nil {
		return err
	}
	return offline(ctx, dir, log, func(ctx context.Context, _ *infra, _ *broker.Conn, domain *orchestration.Orchestration) error {
		return do(domain, ctx, out)
	})
}
