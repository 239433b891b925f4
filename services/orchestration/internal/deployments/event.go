package deployments

import (
	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// lifecycle is the effect that publishes a lifecycle event of a deployment.
func (s *Service) lifecycle(ws uuid.UUID, d *orchv1.Deployment, verb string, payload []byte) (store.Effect, error) {
	id, err := resourceid.Parse(d.GetId())
	if err != nil {
		return store.Effect{}, err
	}
	db := s.deployments.Store()
	e := events.Lifecycle{
		ID: db.NewID(), Kind: "deployment", Verb: verb, Of: id, Name: d.GetName(), At: db.Now(), Payload: payload,
	}.Event(s.vocab)
	e.Related = append(e.Related, events.Related(s.vocab, "flow", d.GetFlowId(), "flow", ""))
	for _, r := range []struct {
		kind string
		id   *string
		role string
		name string
	}{
		{"work-queue", d.WorkQueueId, "work-queue", d.GetWorkQueueName()},
		{"work-pool", d.WorkPoolId, "work-pool", d.GetWorkPoolName()},
		{"block-document", d.StorageDocumentId, "storage", ""},
		{"block-document", d.InfrastructureDocumentId, "infrastructure", ""},
		{"concurrency-limit", d.ConcurrencyLimitId, "concurrency-limit", ""},
	} {
		if r.id != nil {
			e.Related = append(e.Related, events.Related(s.vocab, r.kind, *r.id, r.role, r.name))
		}
	}
	return events.Publish(ws, e)
}

// updated is the effect that publishes the changed fields of a deployment, with old and new values.
func (s *Service) updated(ws uuid.UUID, before, after *orchv1.Deployment) (store.Effect, error) {
	payload, err := events.Payload(after, before)
	if err != nil {
		return store.Effect{}, err
	}
	return s.lifecycle(ws, after, "updated", payload)
}
