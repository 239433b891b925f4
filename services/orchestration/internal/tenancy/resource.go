package tenancy

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Resource is a kind of resource that the directory follows. Each change reaches the directory and is audited before its call returns; see
// Registry.FlushEffects.
type Resource[M proto.Message] struct {
	Registry  *Registry
	Documents *store.Collection[M]
	Kind      directory.Kind
	// Noun is the resource's name in a 404. Taken is the text of a 409; without it, store.ErrDuplicate is returned.
	Noun, Taken string
	// Audit names a resource in its audit events.
	Audit func(info request.Info, m M) AuditEntry
}

// effects returns the effects of a change that a call made.
func (r Resource[M]) effects(info request.Info, owner, id uuid.UUID, m M, action string) ([]store.Effect, error) {
	entry := r.Audit(info, m)
	entry.ID, entry.Action = id, action
	return r.Registry.Effects(info, r.Registry.Follow(r.Kind, owner, id), entry)
}

func (r Resource[M]) flush(ctx context.Context, id uuid.UUID) {
	r.Registry.FlushEffects(ctx, r.Documents.Name(), id)
}

// translate turns errors of the store into status errors.
func (r Resource[M]) translate(err error) error {
	if r.Taken != "" {
		err = Taken(err, r.Taken)
	}
	return Missing(err, r.Noun)
}

// Insert stores a new resource of an owner.
func (r Resource[M]) Insert(ctx context.Context, info request.Info, owner, id uuid.UUID, m M) error {
	effects, err := r.effects(info, owner, id, m, "created")
	if err != nil {
		return err
	}
	if err := r.Documents.Insert(ctx, owner, m, effects...); err != nil {
		return r.translate(err)
	}
	r.flush(ctx, id)
	return nil
}

// Edit changes a resource of an owner. An edit without a difference has no effects.
func (r Resource[M]) Edit(ctx context.Context, info request.Info, owner, id uuid.UUID, action string, edit func(next M) error) (M, error) {
	changed, err := r.Documents.Mutate(ctx, owner, id, store.Edit(edit, func(_, next M) ([]store.Effect, error) {
		return r.effects(info, owner, id, next, action)
	}))
	if err != nil {
		var none M
		return none, r.translate(err)
	}
	r.flush(ctx, id)
	return changed, nil
}

// Delete deletes a resource of an owner. further checks the deletion, and returns the effects that follow the others; it may be nil.
func (r Resource[M]) Delete(ctx context.Context, info request.Info, owner, id uuid.UUID, further func(current M) ([]store.Effect, error)) error {
	err := r.Documents.Delete(ctx, owner, id, func(current M) ([]store.Effect, error) {
		var more []store.Effect
		if further != nil {
			var err error
			if more, err = further(current); err != nil {
				return nil, err
			}
		}
		effects, err := r.effects(info, owner, id, current, "deleted")
		return append(effects, more...), err
	})
	if err != nil {
		return r.translate(err)
	}
	r.flush(ctx, id)
	return nil
}

// DeleteOf deletes all resources of an owner that is deleted. They have no audit events, because the owner's deletion has one. further
// returns the effects that follow; it may be nil.
func (r Resource[M]) DeleteOf(ctx context.Context, owner uuid.UUID, further func(id uuid.UUID) []store.Effect) error {
	return store.Drain(ctx, r.Documents, owner, nil, func(id uuid.UUID) error { return r.Drop(ctx, owner, id, further) })
}

// Drop is DeleteOf for one resource.
func (r Resource[M]) Drop(ctx context.Context, owner, id uuid.UUID, further func(id uuid.UUID) []store.Effect) error {
	err := r.Documents.Delete(ctx, owner, id, func(M) ([]store.Effect, error) {
		effects := []store.Effect{r.Registry.Follow(r.Kind, owner, id)}
		if further != nil {
			effects = append(effects, further(id)...)
		}
		return effects, nil
	})
	if err == nil {
		r.flush(ctx, id)
	}
	return err
}
