package tenancy

import (
	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// AuditEntry is an audited action: "service-account" "rotated".
type AuditEntry struct {
	Kind, Action string
	// ID and Name are the id and name of the resource.
	ID   uuid.UUID
	Name string
	// Workspace is set for an action in one workspace; the event then belongs to the workspace, otherwise to the
	// account.
	Workspace uuid.UUID
}

// Audit is the effect that publishes an audit event. Its related resources are the actor, the account and the
// workspace. Events of an account are stored under the account's id, where no workspace reads them.
func (r *Registry) Audit(info request.Info, d AuditEntry) (store.Effect, error) {
	now := timestamppb.New(r.Store.Now())
	resource := func(kind, id string) *orchv1.RelatedResource {
		return &orchv1.RelatedResource{Labels: map[string]string{r.Vocabulary.ResourceID(): r.Vocabulary.CloudName(kind, id), r.Vocabulary.ResourceRole(): kind}}
	}
	event := &orchv1.ReceivedEvent{
		Id: r.Store.NewID().String(), Occurred: now, Received: now,
		Event: r.Vocabulary.CloudName(d.Kind, d.Action),
		Resource: &orchv1.Resource{Labels: map[string]string{
			r.Vocabulary.ResourceID(): r.Vocabulary.CloudName(d.Kind, d.ID.String()), r.Vocabulary.ResourceName(): d.Name,
		}},
	}
	event.Related = append(events.Actor(r.Vocabulary, info.Caller), resource("account", info.Account.String()))
	owner := info.Account
	if d.Workspace != uuid.Nil {
		owner = d.Workspace
		event.Related = append(event.Related, resource("workspace", owner.String()))
	}
	return events.Publish(owner, event)
}

// Effects returns the effects of most changes: a directory update and an audit event.
func (r *Registry) Effects(info request.Info, follow store.Effect, d AuditEntry) ([]store.Effect, error) {
	published, err := r.Audit(info, d)
	return []store.Effect{follow, published}, err
}
