package taskruns

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/taskrunevents"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/naming"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// recordAttempts bounds the attempts to read and merge runs under concurrent writes.
const recordAttempts = 10

// Records reports whether Record may store something of events with a name.
func (s *Service) Records(event string) bool {
	return strings.HasPrefix(event, s.vocab.Name("task-run")+".")
}

// Record stores the runs and states of client events. Clients decide on the states of their task runs themselves, and
// the server only receives these events. Events may arrive late, repeatedly, and at several processes; see [merge]. A
// *broker.Rejected names the events that are invalid. After any other error, redelivery of the whole batch loses
// nothing.
func (s *Service) Record(ctx context.Context, batch []events.Received) error {
	byWorkspace := map[uuid.UUID][]*recorded{}
	rejected := &broker.Rejected{}
	for _, e := range batch {
		if !taskrunevents.OfClient(s.vocab, e.Event) {
			continue
		}
		r, err := readRecorded(s.vocab, e.Event)
		if err != nil {
			id, _ := uuid.Parse(e.Event.GetId()) // Every event of a batch has an id.
			rejected.Reject(broker.Key{Workspace: e.Workspace, ID: id}, err)
			continue
		}
		byWorkspace[e.Workspace] = append(byWorkspace[e.Workspace], r)
	}
	pass := s.runs.Store().Pass(ctx, "record states of task runs")
	for ws, all := range byWorkspace {
		if pass.Record(s.record(ctx, ws, all), "workspace", ws, "states", len(all)) != nil {
			break
		}
	}
	return cmp.Or(pass.Err(), rejected.Err())
}

func (s *Service) record(ctx context.Context, ws uuid.UUID, all []*recorded) error {
	// The order of the states decides which of several ids of one key wins: the oldest.
	slices.SortStableFunc(all, func(a, b *recorded) int { return order(a.state, b.state) })
	var work *recordBatch
	var filed historyRuns
	for attempt := range recordAttempts {
		var err error
		if work, err = s.open(ctx, ws, all, attempt > 0); err != nil {
			return err
		}
		for _, r := range all {
			work.merge(r)
		}
		// The history comes first, so a reader of a run's state finds that state and all earlier ones in the history.
		if attempt == 0 {
			if filed, err = s.appendHistory(ctx, ws, work); err != nil {
				return err
			}
		}
		complete, err := s.write(ctx, ws, work, attempt > 0)
		if err != nil {
			return err
		}
		if complete {
			break
		}
		if attempt == recordAttempts-1 {
			return store.ErrContention
		}
	}
	return s.correctHistory(ctx, ws, work, filed)
}

// open reads the runs of events by id and, if thorough, also by key. Ids suffice almost always, because a client keeps
// to one id. Otherwise the first write meets a taken key.
func (s *Service) open(ctx context.Context, ws uuid.UUID, all []*recorded, thorough bool) (*recordBatch, error) {
	work := newRecordBatch()
	var ids bson.A
	asked := map[string]bool{}
	for _, r := range all {
		if asked[r.run.GetId()] {
			continue
		}
		asked[r.run.GetId()] = true
		id, err := uuid.Parse(r.run.GetId())
		if err != nil {
			return nil, err
		}
		ids = append(ids, store.Binary(id))
	}
	found, err := store.FindVersions(ctx, s.runs, ws, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}})
	if err != nil {
		return nil, err
	}
	for _, version := range found {
		work.add(version)
	}
	if !thorough {
		return work, nil
	}
	for _, r := range all {
		if work.byKey[r.key()] != nil {
			continue
		}
		filter, err := keysOf(r.run)
		if err != nil {
			return nil, err
		}
		found, err := store.FindVersions(ctx, s.runs, ws, filter)
		if err != nil {
			return nil, err
		}
		for _, version := range found {
			work.add(version)
		}
	}
	return work, nil
}

// write stores the changes of the ledger. complete is false if a concurrent write won, or if an unexpected run has a
// key.
func (s *Service) write(ctx context.Context, ws uuid.UUID, work *recordBatch, thorough bool) (complete bool, err error) {
	if err := s.resolve(ctx, ws, work); err != nil {
		return false, err
	}
	var fresh []*orchv1.TaskRun
	var entries []*entry
	var changed []store.Replacement[*orchv1.TaskRun]
	for _, e := range work.entries {
		switch {
		case e.read.Message == nil:
			fresh, entries = append(fresh, e.run), append(entries, e)
		case e.changed:
			changed = append(changed, store.Replacement[*orchv1.TaskRun]{Read: e.read, Next: e.run})
		}
	}
	taken, err := store.InsertAll(ctx, s.runs, ws, fresh)
	if err != nil {
		return false, err
	}
	if _, complete, err = store.ReplaceAll(ctx, s.runs, ws, changed); err != nil {
		return false, err
	}
	if !thorough {
		return complete && len(taken) == 0, nil
	}
	for _, i := range taken {
		occupied, err := store.Occupied(ctx, s.runs, ws, entries[i].run.GetId())
		if err != nil {
			return false, err
		}
		entries[i].deleted = occupied
		complete = complete && occupied
	}
	return complete, nil
}

// resolve copies fields of flow runs into their task runs, and names unnamed runs.
func (s *Service) resolve(ctx context.Context, ws uuid.UUID, work *recordBatch) error {
	var ids bson.A
	asked := map[string]bool{}
	for _, e := range work.entries {
		if e.run.GetName() == "" && e.read.Message == nil {
			e.run.Name = naming.Random()
		}
		if e.run.FlowRunId == nil || e.run.FlowId != nil || asked[e.run.GetFlowRunId()] {
			continue
		}
		asked[e.run.GetFlowRunId()] = true
		id, err := uuid.Parse(e.run.GetFlowRunId())
		if err != nil {
			return err
		}
		ids = append(ids, store.Binary(id))
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := s.flowRuns.Find(ctx, ws, store.Query{Filter: bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}, Sort: bson.D{{Key: "_id", Value: 1}}})
	if err != nil {
		return err
	}
	flowRuns := map[string]*orchv1.FlowRun{}
	for _, flowRun := range found {
		flowRuns[flowRun.GetId()] = flowRun
	}
	for _, e := range work.entries {
		if e.run.FlowRunId == nil || e.run.FlowId != nil {
			continue
		}
		if flowRun := flowRuns[e.run.GetFlowRunId()]; flowRun != nil {
			e.run.FlowId, e.run.DeploymentId = new(flowRun.GetFlowId()), flowRun.DeploymentId
		} else {
			e.run.FlowId = e.flow
		}
	}
	return nil
}

// recordBatch holds the runs of one batch, as stored and as changed.
type recordBatch struct {
	entries []*entry
	byID    map[string]*entry
	byKey   map[naturalKey]*entry
}

// entry is one run.
type entry struct {
	// Read is the stored run; its message is nil if there is none.
	read store.Version[*orchv1.TaskRun]
	// Run is the run to store.
	run     *orchv1.TaskRun
	changed bool
	// events are the events of the run.
	events []*recorded
	// Flow is the flow that an event named.
	flow *string
	// deleted reports that the id belongs to a deleted run or to another workspace, so nothing is recorded.
	deleted bool
}

func newRecordBatch() *recordBatch {
	return &recordBatch{byID: map[string]*entry{}, byKey: map[naturalKey]*entry{}}
}

// add registers a stored run, unless it is registered already.
func (l *recordBatch) add(version store.Version[*orchv1.TaskRun]) {
	if l.byID[version.Message.GetId()] == nil {
		l.index(&entry{read: version, run: proto.Clone(version.Message).(*orchv1.TaskRun)})
	}
}

func (l *recordBatch) index(e *entry) {
	l.entries = append(l.entries, e)
	l.byID[e.run.GetId()], l.byKey[keyOf(e.run)] = e, e
}

// merge merges an event into the run of its key or, failing that, of its id. The run keeps its id.
func (l *recordBatch) merge(r *recorded) {
	e := l.byKey[r.key()]
	if e == nil {
		e = l.byID[r.run.GetId()]
	}
	if e == nil {
		e = &entry{run: &orchv1.TaskRun{
			Id: r.run.GetId(), FlowRunId: r.run.FlowRunId, TaskKey: r.run.GetTaskKey(), DynamicKey: r.run.GetDynamicKey(),
			EmpiricalPolicy: &orchv1.TaskRunPolicy{}, Labels: &orchv1.Labels{},
		}}
		l.index(e)
	}
	r.state.StateDetails.TaskRunId = new(e.run.GetId())
	if merge(e.run, r) {
		e.changed = true
		l.byKey[keyOf(e.run)] = e
	}
	if e.flow == nil {
		e.flow = r.flow
	}
	e.events = append(e.events, r)
}
