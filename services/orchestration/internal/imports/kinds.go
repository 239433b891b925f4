package imports

import (
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/events"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/admin"
	"github.com/orch-project/orch/services/orchestration/internal/automations"
	"github.com/orch-project/orch/services/orchestration/internal/blocks"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/taskruns"
)

// allKinds are the kinds of resources by the names of their messages.
func (i *Importer) allKinds() map[string]kind {
	s := i.Store
	return map[string]kind{
		"Flow": same(s, query.Flow, &orchv1.Flow{}, nil, nil),
		"WorkPool": same(s, query.WorkPool, &orchv1.WorkPool{}, func(p *orchv1.WorkPool) {
			if p.StorageConfiguration == nil {
				p.StorageConfiguration = &orchv1.WorkPoolStorageConfiguration{}
			}
		}, nil),
		"WorkQueue":                  same(s, query.WorkQueue, &orchv1.WorkQueue{}, nil, func(q *orchv1.WorkQueue) []string { return []string{q.GetWorkPoolId()} }),
		"Worker":                     same(s, query.Worker, &orchv1.Worker{}, nil, func(w *orchv1.Worker) []string { return []string{w.GetWorkPoolId()} }),
		"Variable":                   same(s, query.Variable, &orchv1.Variable{}, nil, nil),
		"SavedSearch":                same(s, query.SavedSearch, &orchv1.SavedSearch{}, nil, nil),
		"ServerDefaultResultStorage": i.resultStorage(),
		"BlockType":                  same(s, query.BlockType, &orchv1.BlockType{}, nil, nil),
		"BlockSchema":                same(s, query.BlockSchema, &orchv1.BlockSchema{}, nil, func(b *orchv1.BlockSchema) []string { return []string{b.GetBlockTypeId()} }),
		"BlockDocument":              i.blockDocuments(),
		"Automation":                 i.automations(),
		"ConcurrencyLimitV2": same(s, query.ConcurrencyLimit, &orchv1.ConcurrencyLimitV2{}, func(l *orchv1.ConcurrencyLimitV2) {
			concurrency.Imported(l, s.Now())
		}, nil),
		"ConcurrencyLimit": kindOf[*orchv1.ConcurrencyLimit, *orchv1.ConcurrencyLimitV2]{
			collection: store.NewCollection(s, query.ConcurrencyLimit, &orchv1.ConcurrencyLimitV2{}),
			stored: func(_ context.Context, l *orchv1.ConcurrencyLimit) (*orchv1.ConcurrencyLimitV2, error) {
				return concurrency.ImportedOfTag(l, s.Now()), nil
			},
		},
		"Deployment": same(s, query.Deployment, &orchv1.Deployment{}, func(d *orchv1.Deployment) {
			if d.Labels == nil {
				d.Labels = map[string]*orchv1.Scalar{}
			}
			d.ScheduleDue = schedules.Due(d, s.Now())
		}, func(d *orchv1.Deployment) []string { return []string{d.GetFlowId(), d.GetConcurrencyLimitId()} }),
		"FlowRun": same(s, query.FlowRun, &orchv1.FlowRun{}, flowruns.Imported, func(r *orchv1.FlowRun) []string { return []string{r.GetFlowId()} }),
		"FlowRunStateRecord": same(s, query.FlowRunState, &orchv1.FlowRunStateRecord{}, flowruns.ImportedState, func(r *orchv1.FlowRunStateRecord) []string {
			return []string{r.GetFlowRunId()}
		}),
		"FlowRunInput": same(s, query.FlowRunInput, &orchv1.FlowRunInput{}, nil, func(r *orchv1.FlowRunInput) []string { return []string{r.GetFlowRunId()} }),
		"TaskRun": same(s, query.TaskRun, &orchv1.TaskRun{}, func(r *orchv1.TaskRun) {
			taskruns.Imported(r, timestamppb.New(s.Now()))
		}, func(r *orchv1.TaskRun) []string { return []string{r.GetFlowRunId()} }),
		"TaskRunStateRecord": same(s, query.TaskRunState, &orchv1.TaskRunStateRecord{}, func(r *orchv1.TaskRunStateRecord) {
			r.Timestamp = r.GetState().GetTimestamp()
		}, func(r *orchv1.TaskRunStateRecord) []string { return []string{r.GetTaskRunId()} }),
		"Artifact":           same(s, query.Artifact, &orchv1.Artifact{}, nil, nil),
		"ArtifactCollection": same(s, query.ArtifactLatest, &orchv1.ArtifactCollection{}, nil, func(c *orchv1.ArtifactCollection) []string { return []string{c.GetLatestId()} }),
		"Log":                i.logs(),
		"ReceivedEvent":      i.events(),
	}
}

func (i *Importer) blockDocuments() kind {
	service := blocks.New(blocks.Deps{Store: i.Store, Keys: i.Keys, Vocabulary: i.Vocabulary})
	return kindOf[*orchv1.BlockDocument, *orchv1.BlockDocument]{
		collection: store.NewCollection(i.Store, query.BlockDocument, &orchv1.BlockDocument{}),
		stored: func(ctx context.Context, d *orchv1.BlockDocument) (*orchv1.BlockDocument, error) {
			return d, service.Imported(ctx, i.Workspace, d)
		},
		owners: func(d *orchv1.BlockDocument) []string { return []string{d.GetBlockTypeId(), d.GetBlockSchemaId()} },
	}
}

func (i *Importer) automations() kind {
	checker := automations.NewChecker(i.Vocabulary)
	return kindOf[*orchv1.Automation, *orchv1.Automation]{
		collection: store.NewCollection(i.Store, query.Automation, &orchv1.Automation{}),
		stored: func(_ context.Context, a *orchv1.Automation) (*orchv1.Automation, error) {
			return a, checker.Prepare(a)
		},
	}
}

// logs removes NUL bytes, as the service does.
func (i *Importer) logs() kind {
	k := same(i.Store, query.Log, &orchv1.Log{}, func(l *orchv1.Log) {
		l.Name, l.Message = strings.ReplaceAll(l.GetName(), "\x00", ""), strings.ReplaceAll(l.GetMessage(), "\x00", "")
	}, nil)
	if i.LogsRetention > 0 {
		k.expires = func(l *orchv1.Log) time.Time { return l.GetCreated().AsTime().Add(i.LogsRetention) }
	}
	return k
}

func (i *Importer) events() kind {
	k := kindOf[*orchv1.ReceivedEvent, *orchv1.ReceivedEvent]{
		collection: store.NewCollection(i.Store, query.Event, &orchv1.ReceivedEvent{}, store.ClientIDs),
		stored: func(_ context.Context, e *orchv1.ReceivedEvent) (*orchv1.ReceivedEvent, error) {
			if list := events.Validate(i.Vocabulary, &orchv1.Event{
				Id: e.GetId(), Event: e.GetEvent(), Occurred: e.GetOccurred(), Resource: e.GetResource(), Related: e.GetRelated(), Payload: e.GetPayload(), Follows: e.Follows,
			}, events.DefaultLimits()); len(list) > 0 {
				return nil, list[0]
			}
			events.Index(i.Vocabulary, e)
			return e, nil
		},
	}
	if i.EventsRetention > 0 {
		k.expires = func(e *orchv1.ReceivedEvent) time.Time { return e.GetReceived().AsTime().Add(i.EventsRetention) }
	}
	return k
}

func (i *Importer) resultStorage() kind {
	k := same(i.Store, query.Configuration, &orchv1.ServerDefaultResultStorage{}, nil, func(d *orchv1.ServerDefaultResultStorage) []string {
		return []string{d.GetDefaultResultStorageBlockId()}
	})
	k.identify = func(d *orchv1.ServerDefaultResultStorage) { admin.Imported(i.Workspace, d) }
	return k
}
