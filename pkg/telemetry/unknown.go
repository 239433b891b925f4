package telemetry

import (
	"context"
	"log/slog"

	"github.com/orch-project/orch/pkg/config"
)

// WarnUnknownSettings logs a warning for each environment variable that begins like a setting but is none.
func WarnUnknownSettings(ctx context.Context, log *slog.Logger) {
	for _, u := range config.UnknownSettings() {
		if u.Suggestion == "" {
			log.WarnContext(ctx, "unknown setting is ignored", "setting", u.Name)
			continue
		}
		log.WarnContext(ctx, "unknown setting is ignored", "setting", u.Name, "did_you_mean", u.Suggestion)
	}
}
