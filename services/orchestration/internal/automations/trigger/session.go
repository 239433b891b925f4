package trigger

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Record is a bucket, and the revision and the token under which it is stored. A revision of 0 means that it is not stored yet.
type Record struct {
	Workspace uuid.UUID
	ID        uuid.UUID
	Bucket    *orchv1.AutomationBucket
	Revision  int64
	Token     int64
	// Stored is the bucket as the backend has it, nil if it does not; it is the backend's.
	Stored *orchv1.AutomationBucket
}

// RootFiring is a firing of an automation's root, which causes its actions.
type RootFiring struct {
	Automation *Automation
	Firing     *orchv1.AutomationFiring
}

// Backend persists buckets and emits firings, idempotently.
type Backend interface {
	// Load reads buckets of a workspace. Buckets that are not stored are absent. The caller owns what it gets.
	Load(ctx context.Context, ws uuid.UUID, ids []uuid.UUID) ([]*Record, error)
	// Save writes records whose revisions are still those stored, and raises their revisions. An error means that some may
	// not be written, such as those that another session changed. Each record is written whole or not at all.
	Save(ctx context.Context, records []*Record) error
	// Emit takes firings over for good before it returns. A firing that was taken over before is a duplicate.
	Emit(ctx context.Context, firings []RootFiring) error
}

// Session evaluates events and the clock, and commits what that changes:
//
//  1. the buckets of leaves, with their firings as pending
//  2. the buckets of parents, level by level, with theirs
//  3. the firings of roots, to the backend's Emit
//  4. the same buckets with nothing pending
//
// Before step 1 nothing has happened. After it, pending firings are sent again when a bucket is loaded; parents and Emit
// deduplicate them. A session is used by one goroutine, and no longer after Commit.
type Session struct {
	backend Backend
	now     int64
	records map[uuid.UUID]*entry
	absent  map[uuid.UUID]bool // Buckets that were looked for and are not stored.
	settled []*entry
	firings []RootFiring
	fired   []Fired
	admit   func(*Node) bool
	// duplicates are events that a ledger holds, with the earliest time at which one was applied.
	duplicates map[uuid.UUID]int64
}

// entry is a record in a session.
type entry struct {
	*Record
	node    *Node
	changed bool
}

// Fired is a firing of any trigger, for those who look on.
type Fired struct {
	Node   *Node
	Firing *orchv1.AutomationFiring
}

// NewSession begins a session at a time.
func NewSession(b Backend, now time.Time) *Session {
	return &Session{backend: b, now: now.UnixMicro(), records: map[uuid.UUID]*entry{}, absent: map[uuid.UUID]bool{}, duplicates: map[uuid.UUID]int64{}}
}

// Fired returns all firings so far, those of children too.
func (s *Session) Fired() []Fired { return s.fired }

// Duplicates returns the events that were applied before, with the time in microseconds of the first application.
func (s *Session) Duplicates() map[uuid.UUID]int64 { return s.duplicates }

func (s *Session) duplicate(id uuid.UUID, at int64) {
	if first, ok := s.duplicates[id]; !ok || at < first {
		s.duplicates[id] = at
	}
}

// AdmitKeys sets a test of whether a trigger may begin to count another for_each key. Events of a key that is not admitted
// are not counted.
func (s *Session) AdmitKeys(admit func(*Node) bool) { s.admit = admit }

// SetTime sets the time of the following events. A backtest advances it.
func (s *Session) SetTime(now time.Time) { s.now = now.UnixMicro() }

// Preload reads the buckets that events will touch, together.
func (s *Session) Preload(ctx context.Context, ws uuid.UUID, events []*orchv1.ReceivedEvent, matching func(*orchv1.ReceivedEvent) []*Node) error {
	nodes := map[uuid.UUID]*Node{}
	var ids []uuid.UUID
	for _, e := range events {
		for _, n := range matching(e) {
			id := BucketID(n.ID, n.key(e))
			if _, loaded := s.records[id]; loaded || nodes[id] != nil {
				continue
			}
			nodes[id] = n
			ids = append(ids, id)
		}
	}
	return s.load(ctx, ws, ids, nodes)
}

func (s *Session) load(ctx context.Context, ws uuid.UUID, ids []uuid.UUID, nodes map[uuid.UUID]*Node) error {
	if len(ids) == 0 {
		return nil
	}
	records, err := s.backend.Load(ctx, ws, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		s.absent[id] = true
	}
	for _, r := range records {
		delete(s.absent, r.ID)
	}
	for _, r := range records {
		if err := s.register(ctx, r, nodes[r.ID]); err != nil {
			return err
		}
	}
	return nil
}

// register takes a stored record into the session. Its pending firings are sent first.
func (s *Session) register(ctx context.Context, r *Record, n *Node) error {
	e := &entry{Record: r, node: n}
	s.records[r.ID] = e
	return s.propagate(ctx, e, r.Bucket.GetPending())
}

// PreloadTimers reads buckets of triggers, together, and passes on what they have pending.
func (s *Session) PreloadTimers(ctx context.Context, ws uuid.UUID, nodes map[uuid.UUID]*Node) error {
	ids := make([]uuid.UUID, 0, len(nodes))
	for id := range nodes {
		ids = append(ids, id)
	}
	return s.load(ctx, ws, ids, nodes)
}

// FilterFirings drops the firings of roots that a test does not accept. They have happened, and cause nothing.
func (s *Session) FilterFirings(accept func(RootFiring) bool) {
	s.firings = slices.DeleteFunc(s.firings, func(e RootFiring) bool { return !accept(e) })
}

// Begin opens the window of a trigger that misses events from now on, unless it has one.
func (s *Session) Begin(ctx context.Context, n *Node) error {
	b, err := s.bucket(ctx, n, nil)
	if err != nil || b.Bucket.GetOpen() {
		return err
	}
	return s.change(ctx, b, func(w *countWindow) { w.open(s.now, s.now+n.Within, nil) })
}

func (s *Session) bucket(ctx context.Context, n *Node, key []string) (*entry, error) {
	id := BucketID(n.ID, key)
	if e := s.records[id]; e != nil {
		return e, nil
	}
	ws := n.Automation.Workspace
	if !s.absent[id] {
		if err := s.load(ctx, ws, []uuid.UUID{id}, map[uuid.UUID]*Node{id: n}); err != nil {
			return nil, err
		}
		if e := s.records[id]; e != nil {
			return e, nil
		}
	}
	e := &entry{node: n, Record: &Record{Workspace: ws, ID: id, Bucket: &orchv1.AutomationBucket{
		Id: id.String(), AutomationId: n.Automation.ID.String(), TriggerId: n.ID.String(), Key: key,
	}}}
	s.records[id] = e
	return e, nil
}

// Event applies an event to a leaf that may take it. A duplicate changes nothing.
func (s *Session) Event(ctx context.Context, n *Node, e *orchv1.ReceivedEvent) error {
	starts, expected := n.Filter.Matches(e)
	if !starts && !expected {
		return nil
	}
	id, err := uuid.Parse(e.GetId())
	if err != nil {
		return nil //nolint:nilerr // An event without an id is not stored either.
	}
	b, err := s.bucket(ctx, n, n.key(e))
	if err != nil {
		return err
	}
	if len(n.forEach) > 0 && b.Revision == 0 && !b.changed && s.admit != nil && !s.admit(n) {
		delete(s.records, b.ID)
		return nil
	}
	if at, duplicate := applied(b.Bucket, id, s.now, dedupWindow); duplicate {
		s.duplicate(id, at)
		return nil
	}
	apply(b.Bucket, id, s.now, dedupWindow)
	return s.change(ctx, b, func(w *countWindow) { w.event(id, e, starts, expected) })
}

// Tick looks at the clock for a bucket of a leaf.
func (s *Session) Tick(ctx context.Context, n *Node, key []string) error {
	b, err := s.bucket(ctx, n, key)
	if err != nil {
		return err
	}
	if n.Proactive && !n.After && len(n.forEach) == 0 && !b.Bucket.GetOpen() {
		return s.Begin(ctx, n) // Silence is missed without any event.
	}
	before, changed := proto.CloneOf(b.Bucket), b.changed
	if err := s.change(ctx, b, (*countWindow).tick); err != nil {
		return err
	}
	if proto.Equal(before, b.Bucket) {
		b.changed = changed
	}
	return nil
}

// Fire makes a trigger fire that has no events of its own to count, such as a metric.
func (s *Session) Fire(ctx context.Context, n *Node, change func(b *orchv1.AutomationBucket) *orchv1.AutomationFiring) error {
	b, err := s.bucket(ctx, n, nil)
	if err != nil {
		return err
	}
	return s.change(ctx, b, func(w *countWindow) {
		if f := change(w.AutomationBucket); f != nil {
			w.fired = append(w.fired, f)
		}
	})
}

func (s *Session) change(ctx context.Context, b *entry, do func(*countWindow)) error {
	w := &countWindow{AutomationBucket: b.Bucket, node: b.node, now: s.now}
	do(w)
	b.changed = true
	b.Bucket.Due = nil
	if due := w.due(); due != 0 {
		b.Bucket.Due = &due
	}
	for _, f := range w.fired {
		s.fired = append(s.fired, Fired{b.node, f})
	}
	b.Bucket.Pending = append(b.Bucket.Pending, w.fired...)
	return s.propagate(ctx, b, w.fired)
}

// propagate hands firings of a bucket to its parent, or to the automation's actions.
func (s *Session) propagate(ctx context.Context, b *entry, firings []*orchv1.AutomationFiring) error {
	if len(firings) == 0 {
		return nil
	}
	s.settled = append(s.settled, b)
	parent := b.node.Parent
	for _, f := range firings {
		if parent == nil {
			s.firings = append(s.firings, RootFiring{b.node.Automation, f})
			continue
		}
		above, err := s.bucket(ctx, parent, parent.narrow(b.node, f.GetKey()))
		if err != nil {
			return err
		}
		err = s.change(ctx, above, func(w *countWindow) {
			if fired := parent.child(w.AutomationBucket, f); fired != nil {
				w.fired = append(w.fired, fired)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Commit makes the session's changes durable and hands the firings on. After an error some of it may be; evaluating the
// same again completes it.
func (s *Session) Commit(ctx context.Context) error {
	var changed []*entry
	for _, e := range s.records {
		if e.changed {
			changed = append(changed, e)
		}
	}
	// Deepest first, so that a parent never knows of a firing that its child has not committed.
	slices.SortFunc(changed, func(a, b *entry) int {
		return cmp.Or(b.node.depth-a.node.depth, slices.Compare(a.ID[:], b.ID[:]))
	})
	for len(changed) > 0 {
		level := 1
		for level < len(changed) && changed[level].node.depth == changed[0].node.depth {
			level++
		}
		if err := s.save(ctx, changed[:level]); err != nil {
			return err
		}
		changed = changed[level:]
	}
	if len(s.firings) > 0 {
		if err := s.backend.Emit(ctx, s.firings); err != nil {
			return err
		}
	}
	settled := slices.DeleteFunc(s.settled, func(e *entry) bool { return len(e.Bucket.GetPending()) == 0 })
	slices.SortFunc(settled, func(a, b *entry) int { return slices.Compare(a.ID[:], b.ID[:]) })
	settled = slices.Compact(settled)
	if len(settled) == 0 {
		return nil
	}
	for _, e := range settled {
		e.Bucket.Pending = nil
	}
	return s.save(ctx, settled)
}

func (s *Session) save(ctx context.Context, entries []*entry) error {
	records := make([]*Record, len(entries))
	for i, e := range entries {
		records[i] = e.Record
	}
	return s.backend.Save(ctx, records)
}
