package hooks

import (
	"sync"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// minute is the span of the rate that the settings give to each account, in seconds.
const minute = 60

// accounts are the rules that hold for accounts: what the catalogue has of them, with the settings' where it says nothing.
// Each account is counted for itself. It is safe for concurrent use.
type accounts struct {
	known sync.Map // The account's id to its rules.
}

// rules are what holds for an account as long as the catalogue has the same of it. The guard tells a change by the
// pointer, so it must not be another one for every request.
type rules struct{ own, whole *orchv1.AccountDefinition }

// account is what is to be kept over all webhooks of an account; nil when nothing is.
func (h *Hooks) account(id string) *orchv1.AccountDefinition {
	own := h.catalog.Account(id)
	if h.cfg.AccountRate == 0 && len(h.cfg.AllowedIPs) == 0 {
		return own
	}
	if known, ok := h.accounts.known.Load(id); ok && known.(rules).own == own {
		return known.(rules).whole
	}
	whole := &orchv1.AccountDefinition{Id: id, RateLimit: own.GetRateLimit(), AllowedIps: own.GetAllowedIps()}
	if whole.RateLimit == nil && h.cfg.AccountRate > 0 {
		whole.RateLimit = &orchv1.WebhookRateLimit{Requests: h.cfg.AccountRate, Seconds: minute}
	}
	if len(whole.AllowedIps) == 0 {
		whole.AllowedIps = h.cfg.AllowedIPs
	}
	h.accounts.known.Store(id, rules{own, whole})
	return whole
}
