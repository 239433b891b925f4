package orchestration

import (
	"errors"
	"time"

	"github.com/orch-project/orch/services/orchestration/internal/webhooks/health"
)

// WebhookHealth has the thresholds of failing webhooks.
type WebhookHealth struct {
	Window  time.Duration `env:"ORCH_WEBHOOK_FAILING_WINDOW" envDefault:"5m" desc:"The period in which the requests of a webhook are counted. A webhook fails, and recovers, at most once per period."`
	Count   int64         `env:"ORCH_WEBHOOK_FAILING_COUNT" envDefault:"5" desc:"The minimum number of refused or failed requests in a period that makes a webhook fail."`
	Percent int64         `env:"ORCH_WEBHOOK_FAILING_PERCENT" envDefault:"50" desc:"The minimum percentage of refused or failed requests in a period that makes a webhook fail."`
}

func (h WebhookHealth) validate() error {
	if h != (WebhookHealth{}) && h.Window < time.Second { // All zero are the defaults.
		return errors.New("ORCH_WEBHOOK_FAILING_WINDOW: must be at least 1s")
	}
	if h.Count < 0 || h.Percent < 0 || h.Percent > 100 {
		return errors.New("ORCH_WEBHOOK_FAILING_COUNT, ORCH_WEBHOOK_FAILING_PERCENT: must not be negative, and at most 100 percent")
	}
	return nil
}

// policy returns the thresholds, with defaults for settings made in code.
func (h WebhookHealth) policy() health.Policy {
	if h == (WebhookHealth{}) {
		h = WebhookHealth{Window: 5 * time.Minute, Count: 5, Percent: 50}
	}
	return health.Policy{Window: h.Window, Failures: h.Count, Share: float64(h.Percent) / 100}
}
