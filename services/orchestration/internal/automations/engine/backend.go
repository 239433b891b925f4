package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// closedFor is how long a closed bucket is kept after its last change: it remembers which events are duplicates.
	closedFor = 45 * time.Minute
	// openFor is how long an open bucket is kept after its end and its last change.
	openFor = 24 * time.Hour
	// unlimitedFor is how long a bucket without a limit of time, and child firings that wait, are kept unchanged.
	unlimitedFor = 30 * 24 * time.Hour
)

// Load implements trigger.Backend.
func (e *Engine) Load(ctx context.Context, ws uuid.UUID, ids []uuid.UUID) ([]*trigger.Record, error) {
	wanted := make(bson.A, len(ids))
	for i, id := range ids {
		wanted[i] = store.Binary(id)
	}
	found, err := store.FindVersions(ctx, e.buckets, ws, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: wanted}}}})
	if err != nil {
		return nil, err
	}
	records := make([]*trigger.Record, 0, len(found))
	for _, v := range found {
		r, err := record(ws, v)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	e.timers.read(records)
	return records, nil
}

func record(ws uuid.UUID, v store.Version[*orchv1.AutomationBucket]) (*trigger.Record, error) {
	id, err := uuid.Parse(v.Message.GetId())
	if err != nil {
		return nil, fmt.Errorf("read a bucket's id: %w", err)
	}
	return &trigger.Record{Workspace: ws, ID: id, Revision: v.Revision, Token: v.Token, Bucket: proto.CloneOf(v.Message), Stored: v.Message}, nil
}

// Save implements trigger.Backend.
func (e *Engine) Save(ctx context.Context, records []*trigger.Record) error {
	err := e.save(ctx, records)
	e.timers.written(records, err)
	return err
}

func (e *Engine) save(ctx context.Context, records []*trigger.Record) error {
	if len(records) == 0 {
		return nil
	}
	ws := records[0].Workspace
	changes := make([]store.Replacement[*orchv1.AutomationBucket], len(records))
	for i, r := range records {
		e.finish(r.Bucket)
		changes[i] = store.Replacement[*orchv1.AutomationBucket]{
			Read: store.Version[*orchv1.AutomationBucket]{Message: r.Stored, Revision: r.Revision, Token: r.Token},
			Next: proto.CloneOf(r.Bucket),
		}
	}
	stored, complete, err := store.ReplaceAll(ctx, e.buckets, ws, changes)
	if err != nil {
		return err
	}
	if !complete {
		return trigger.ErrConflict
	}
	for i, r := range records {
		r.Revision, r.Token = stored[i].Revision, stored[i].Token
		r.Stored = proto.CloneOf(r.Bucket)
	}
	return nil
}

// finish sets the fields that indexes need.
func (e *Engine) finish(b *orchv1.AutomationBucket) {
	b.Unsettled = nil
	if len(b.GetPending()) > 0 {
		b.Unsettled = proto.Bool(true)
	}
	now := e.now()
	switch {
	case len(b.GetWaiting()) > 0, b.GetOpen() && b.GetEnd() <= b.GetStart():
		b.Expires = now.Add(unlimitedFor).UnixMicro()
	case b.GetOpen():
		b.Expires = max(now.UnixMicro(), b.GetEnd()) + openFor.Microseconds()
	default:
		b.Expires = now.Add(closedFor).UnixMicro()
	}
}

// Forget removes buckets whose time is over. A bucket that is due, or has firings to pass on, stays.
func (e *Engine) Forget(ctx context.Context) error {
	over := bson.D{{Key: "expires", Value: bson.D{{Key: "$lt", Value: e.now().UnixMicro()}}}}
	byWorkspace := map[uuid.UUID]bool{}
	err := e.buckets.EachAcross(ctx, store.Query{Filter: over}, func(ws uuid.UUID, _ *orchv1.AutomationBucket) error {
		byWorkspace[ws] = true
		return nil
	})
	if err != nil {
		return err
	}
	pass := e.Store.Pass(ctx, "forget buckets of automations")
	for ws := range byWorkspace {
		filter := append(bson.D{{Key: "unsettled", Value: bson.D{{Key: "$exists", Value: false}}}}, over...)
		if pass.Record(e.buckets.DeleteMany(ctx, ws, filter), "workspace", ws) != nil {
			break
		}
	}
	return errors.Join(pass.Err(), e.forgetActions(ctx))
}

func (e *Engine) forgetActions(ctx context.Context) error {
	over := bson.D{{Key: "expires", Value: bson.D{{Key: "$lt", Value: e.now().UnixMicro()}}}}
	byWorkspace := map[uuid.UUID]bool{}
	err := e.actions.EachAcross(ctx, store.Query{Filter: over}, func(ws uuid.UUID, _ *orchv1.AutomationActionRun) error {
		byWorkspace[ws] = true
		return nil
	})
	if err != nil {
		return err
	}
	pass := e.Store.Pass(ctx, "forget action runs")
	for ws := range byWorkspace {
		if pass.Record(e.actions.DeleteMany(ctx, ws, over), "workspace", ws) != nil {
			break
		}
	}
	return pass.Err()
}
