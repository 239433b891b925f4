package webhooks

import (
	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
)

// audited returns the effect that publishes an audit event of a webhook.
func (s *Service) audited(info request.Info, ws uuid.UUID, w *orchv1.Webhook, action string) (store.Effect, error) {
	var err error
	if info.Account, err = uuid.Parse(w.GetAccount()); err != nil {
		return store.Effect{}, err
	}
	id, err := uuid.Parse(w.GetId())
	if err != nil {
		return store.Effect{}, err
	}
	return s.tenancy.Audit(info, tenancy.AuditEntry{Kind: "webhook", Action: action, ID: id, Name: w.GetName(), Workspace: ws})
}
