package orchestration

import (
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Parts gives tests what they poison.
func (o *Orchestration) Parts() (*store.Store, *outbox.Relay) { return o.store, o.relay }
