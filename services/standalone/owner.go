package standalone

import (
	"context"
	"log/slog"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/services/orchestration"
)

// OwnerKey creates an API key for the owner of a data directory that no server uses, as a replacement for a lost key.
func OwnerKey(ctx context.Context, dataDir string, log *slog.Logger) (key string, err error) {
	dir, err := existing(ctx, dataDir, log)
	if err != nil {
		return "", err
	}
	err = offline(ctx, dir, log, func(ctx context.Context, _ *infra, _ *broker.Conn, domain *orchestration.Orchestration) error {
		var err error
		key, err = domain.NewOwnerKey(ctx)
		return err
	})
	return key, err
}

// DisableAllowlists turns off the allow lists of all accounts of a data directory that no server uses. It returns how many
// it turned off.
func DisableAllowlists(ctx context.Context, dataDir string, log *slog.Logger) (opened int, err error) {
	dir, err := existing(ctx, dataDir, log)
	if err != nil {
		return 0, err
	}
	err = offline(ctx, dir, log, func(ctx context.Context, _ *infra, _ *broker.Conn, domain *orchestration.Orchestration) error {
		var err error
		opened, err = domain.DisableAllowlists(ctx)
		return err
	})
	return opened, err
}
