package hooks

import (
	"sync"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// minute is the span of the rate that the settings give to each account, in seconds.
const minute = 60

// accounts are the rules of accounts that the catalogue has none for: those of the settings. Each account is counted for
// itself. It is safe for concurrent use.
type accounts struct {
	known sync.Map // The account's id to its *orchv1.AccountDefinition.
}

// account is what is to be kept over all webhooks of an account; nil when nothing is.
func (h *Hooks) account(id string) *orchv1.AccountDefinition {
	if own := h.catalog.Account(id); own != nil {
		return own
	}
	if h.cfg.AccountRate == 0 && len(h.cfg.AllowedIPs) == 0 {
		return nil
	}
	if known, ok := h.accounts.known.Load(id); ok {
		return known.(*orchv1.AccountDefinition)
	}
	rules := &orchv1.AccountDefinition{Id: id, AllowedIps: h.cfg.AllowedIPs}
	if h.cfg.AccountRate > 0 {
		rules.RateLimit = &orchv1.WebhookRateLimit{Requests: h.cfg.AccountRate, Seconds: minute}
	}
	known, _ := h.accounts.known.LoadOrStore(id, rules)
	return known.(*orchv1.AccountDefinition)
}
