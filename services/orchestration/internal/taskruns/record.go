package taskruns

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/broker"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/randomname"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// recordAttempts bounds how often runs are read and merged anew because another writer won.
const recordAttempts = 10

// Record stores the runs and the states that events of clients tell of: clients judge the states of their task runs by
// themselves, and these events are all that the server hears. Events may come late, again, and to several processes at
// once; see [merge]. The error names events that should tell of a task run and do not, as a *broker.Rejected; after
// any other error nothing is lost if all of the batch comes again.
func (s *Service) Record(ctx context.Context, batch []events.Received) error {
	byWorkspace := map[uuid.UUID][]*recorded{}
	rejected := &broker.Rejected{}
	for _, e := range batch {
		if !ofClient(s.vocab, e.Event) {
			continue
		}
		r, err := readRecorded(s.vocab, e.Event)
		if err != nil {
			id, _ := uuid.Parse(e.Event.GetId()) // A batch has no event without one.
			rejected.Reject(broker.Key{Workspace: e.Workspace, ID: id}, err)
			continue
		}
		byWorkspace[e.Workspace] = append(byWorkspace[e.Workspace], r)
	}
	for ws, all := range byWorkspace {
		if err := s.record(ctx, ws, all); err != nil {
			return fmt.Errorf("record %d states of task runs: %w", len(all), err)
		}
	}
	return rejected.Err()
}

func (s *Service) record(ctx context.Context, ws uuid.UUID, all []*recorded) error {
	// In the order of the states, so that of several ids that one key is given the oldest stays.
	slices.SortStableFunc(all, func(a, b *recorded) int { return order(a.state, b.state) })
	var work *ledger
	var filed filing
	for attempt := range recordAttempts {
		var err error
		if work, err = s.open(ctx, ws, all, attempt > 0); err != nil {
			return err
		}
		for _, r := range all {
			work.enter(r)
		}
		// The history first: who reads of a run's state finds it there, and all that were before it.
		if attempt == 0 {
			if filed, err = s.file(ctx, ws, work); err != nil {
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
	return s.refile(ctx, ws, work, filed)
}

// open reads the runs that events speak of: by their ids and, asked to be thorough, by their keys too. Nearly always
// the ids do, since a client keeps to one id; where they do not, the first attempt to write meets a taken key.
func (s *Service) open(ctx context.Context, ws uuid.UUID, all []*recorded, thorough bool) (*ledger, error) {
	work := newLedger()
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
	found, err := s.runs.FindVersions(ctx, ws, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}})
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
		found, err := s.runs.FindVersions(ctx, ws, filter)
		if err != nil {
			return nil, err
		}
		for _, version := range found {
			work.add(version)
		}
	}
	return work, nil
}

// write stores what the ledger changed; complete is false when another writer was in the way, or a key is taken that
// was not looked for.
func (s *Service) write(ctx context.Context, ws uuid.UUID, work *ledger, thorough bool) (complete bool, err error) {
	if err := s.adopt(ctx, ws, work); err != nil {
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
	taken, err := s.runs.InsertAll(ctx, ws, fresh)
	if err != nil {
		return false, err
	}
	if complete, err = s.runs.ReplaceAll(ctx, ws, changed); err != nil {
		return false, err
	}
	if !thorough {
		return complete && len(taken) == 0, nil
	}
	for _, i := range taken {
		gone, err := s.runs.Occupied(ctx, ws, entries[i].run.GetId())
		if err != nil {
			return false, err
		}
		entries[i].gone = gone
		complete = complete && gone
	}
	return complete, nil
}

// adopt gives runs what they have of their flow runs, and names those that nobody named.
func (s *Service) adopt(ctx context.Context, ws uuid.UUID, work *ledger) error {
	var ids bson.A
	asked := map[string]bool{}
	for _, e := range work.entries {
		if e.run.GetName() == "" && e.read.Message == nil {
			e.run.Name = randomname.New()
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
	found, err := s.flowRuns.Find(ctx, ws, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}}, bson.D{{Key: "_id", Value: 1}}, 0, -1)
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

// ledger is what the runs of one batch are and become.
type ledger struct {
	entries []*entry
	byID    map[string]*entry
	byKey   map[naturalKey]*entry
}

// entry is one run.
type entry struct {
	// Read is what is stored; its message is nil when nothing is.
	read store.Version[*orchv1.TaskRun]
	// Run is what is to be stored.
	run     *orchv1.TaskRun
	changed bool
	// Said are the events about the run.
	said []*recorded
	// Flow is the flow that an event named.
	flow *string
	// Gone is set when the run's id is that of a deleted run, or of one in another workspace: nothing is recorded.
	gone bool
}

func newLedger() *ledger {
	return &ledger{byID: map[string]*entry{}, byKey: map[naturalKey]*entry{}}
}

// add takes in a run as it is stored. One that is there already stays.
func (l *ledger) add(version store.Version[*orchv1.TaskRun]) {
	if l.byID[version.Message.GetId()] == nil {
		l.index(&entry{read: version, run: proto.Clone(version.Message).(*orchv1.TaskRun)})
	}
}

func (l *ledger) index(e *entry) {
	l.entries = append(l.entries, e)
	l.byID[e.run.GetId()], l.byKey[keyOf(e.run)] = e, e
}

// enter merges an event into the run of its key or, where there is none, of its id. The run's id stays.
func (l *ledger) enter(r *recorded) {
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
	e.said = append(e.said, r)
}
