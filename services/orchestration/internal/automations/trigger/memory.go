package trigger

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ErrConflict is that another session changed a bucket.
var ErrConflict = errors.New("another session changed the bucket")

// Memory is a backend that forgets everything with the process: for simulations, and for events that are evaluated
// without effects. It is used by one goroutine.
type Memory struct {
	records map[uuid.UUID]*Record
	emitted map[string]bool
	Firings []RootFiring
}

// NewMemory returns an empty backend.
func NewMemory() *Memory {
	return &Memory{records: map[uuid.UUID]*Record{}, emitted: map[string]bool{}}
}

// Load implements Backend.
func (m *Memory) Load(_ context.Context, ws uuid.UUID, ids []uuid.UUID) ([]*Record, error) {
	var found []*Record
	for _, id := range ids {
		if r := m.records[id]; r != nil && r.Workspace == ws {
			found = append(found, r.clone())
		}
	}
	return found, nil
}

func (r *Record) clone() *Record {
	return &Record{Workspace: r.Workspace, ID: r.ID, Bucket: proto.CloneOf(r.Bucket), Revision: r.Revision}
}

// Save implements Backend.
func (m *Memory) Save(_ context.Context, records []*Record) error {
	for _, r := range records {
		stored := m.records[r.ID]
		if (stored == nil) != (r.Revision == 0) || (stored != nil && stored.Revision != r.Revision) {
			return ErrConflict
		}
		r.Revision++
		m.records[r.ID] = r.clone()
	}
	return nil
}

// Emit implements Backend.
func (m *Memory) Emit(_ context.Context, firings []RootFiring) error {
	for _, f := range firings {
		if id := f.Firing.GetId(); !m.emitted[id] {
			m.emitted[id] = true
			m.Firings = append(m.Firings, f)
		}
	}
	return nil
}

// Open returns the open buckets of a trigger, in no order.
func (m *Memory) Open(n *Node) []*orchv1.AutomationBucket {
	var open []*orchv1.AutomationBucket
	for _, r := range m.records {
		if r.Bucket.GetTriggerId() == n.ID.String() && r.Bucket.GetOpen() {
			open = append(open, r.Bucket)
		}
	}
	return open
}

// Len returns how many buckets there are.
func (m *Memory) Len() int { return len(m.records) }

// Unsettled returns the buckets whose firings may not have been passed on.
func (m *Memory) Unsettled() map[uuid.UUID]*orchv1.AutomationBucket {
	found := map[uuid.UUID]*orchv1.AutomationBucket{}
	for id, r := range m.records {
		if len(r.Bucket.GetPending()) > 0 {
			found[id] = r.Bucket
		}
	}
	return found
}
