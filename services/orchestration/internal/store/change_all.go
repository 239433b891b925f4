package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/isolation"
)

// Update is a change of a document that FindAcross or EachRevision read. Its message must not share memory with the one that was read.
type Update[M proto.Message] struct {
	Read   Owned[M]
	Change *Change[M]
}

// ChangeAll changes documents of any workspaces by compare-and-set, in one command, and wakes the relay for their effects. It returns
// the positions of the documents that have another version than the one that it wrote: another writer changed them, before or since, or
// the database refuses the change. The caller decides anew for each of these. After an error it is unknown which changes are stored.
func ChangeAll[M proto.Message](ctx context.Context, c *Collection[M], all []Update[M]) (lost []int, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	next, models := make([]Revision, len(all)), make([]mongo.WriteModel, 0, len(all))
	for i, u := range all {
		read := Version[M]{Message: u.Read.Message, Revision: u.Read.Revision, Token: u.Read.Token}
		next[i] = read.revision().next()
		u.Change.Effects = traced(ctx, u.Change.Effects)
		model, err := c.versioned(u.Read.Workspace, read, next[i], u.Change)
		if err == nil {
			err = c.prepareChange(ctx, u.Read.Workspace, u.Read.Message, u.Change.Message)
		}
		if isolation.IsOutage(err) {
			return nil, fmt.Errorf("change %ss: %w", c.Name(), err)
		}
		if err == nil {
			models = append(models, model)
		}
	}
	complete := false
	if len(models) > 0 {
		complete, err = c.updateAll(ctx, models)
	}
	for i, u := range all {
		c.versionCache.forget(next[i].ID)
		if len(u.Change.Effects) > 0 {
			c.store.relay.Wake(c.Name(), u.Read.Workspace, next[i].ID)
		}
	}
	if isolation.IsOutage(err) || complete && len(models) == len(all) {
		return nil, err
	}
	return c.notStored(ctx, next)
}

// notStored returns the positions of the revisions that no stored document has.
func (c *Collection[M]) notStored(ctx context.Context, revisions []Revision) (lost []int, err error) {
	ids := make([]uuid.UUID, len(revisions))
	for i, r := range revisions {
		ids[i] = r.ID
	}
	found, err := c.keys(ctx, bson.D{{Key: "_id", Value: OneOf(ids)}}, nil, 0, fieldRevision, fieldToken)
	if err != nil {
		return nil, err
	}
	stored := make(map[Revision]bool, len(found))
	for _, doc := range found {
		id, err := UUID(doc.Lookup("_id"))
		if err != nil {
			return nil, err
		}
		stored[revisionOf(id, doc)] = true
	}
	for i, r := range revisions {
		if !stored[r] {
			lost = append(lost, i)
		}
	}
	return lost, nil
}
