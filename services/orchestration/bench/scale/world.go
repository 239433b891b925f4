package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// world is a store that queries read.
type world struct {
	server *embeddedmongo.Server // nil for a store on another server.
	store  *store.Store
}

func open(ctx context.Context, dir string) (*world, error) {
	server, err := embeddedmongo.Open(dir, embeddedmongo.Options{})
	if err != nil {
		return nil, err
	}
	w := &world{server: server}
	if err := w.connect(ctx, store.Config{URI: server.URI(), Database: "orch", Dialer: server.ContextDialer()}); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return w, nil
}

// connect opens the store on a server.
func (w *world) connect(ctx context.Context, cfg store.Config) (err error) {
	cfg.Clock, cfg.IDs = clock.System{}, id.System()
	if w.store, err = store.Open(ctx, cfg); err != nil {
		return err
	}
	if err := w.store.EnsureIndexes(ctx, query.Indexes()); err != nil {
		return errors.Join(err, w.store.Close(ctx))
	}
	return nil
}

func (w *world) close(ctx context.Context) error {
	if w.server == nil {
		return w.store.Close(ctx)
	}
	return errors.Join(w.store.Close(ctx), w.server.Close())
}

// The resources of the runs. Flows, deployments and states match the same share of a small and of a large store. A time
// window and a name of its own match the same number.
const (
	flows       = 50
	deployments = 20
	pools       = 2
	queues      = 10
	latest      = 50
)

var newest = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

// known returns the fixed id of the n-th resource of a kind.
func known(kind string, n int) uuid.UUID {
	return uuid.NewSHA1(request.DefaultWorkspace, fmt.Appendf(nil, "%s/%d", kind, n))
}

// batch is the number of documents per insert command.
const batch = 500

// fill stores n runs and their related resources in a store. It continues where an earlier call was interrupted.
func (w *world) fill(ctx context.Context, n int) error {
	stored, err := store.NewCollection(w.store, query.FlowRun, &orchv1.FlowRun{}).Count(ctx, request.DefaultWorkspace, store.Query{})
	if err != nil || stored == int64(n) {
		return err
	}
	if stored > int64(n) {
		return fmt.Errorf("store has %d flow runs, want at most %d: remove it", stored, n)
	}
	return errors.Join(
		insert(ctx, w, query.Flow, flow, sequence{0, 1, flows}),
		insert(ctx, w, query.Deployment, deployment, sequence{0, 1, deployments}),
		insert(ctx, w, query.WorkPool, workPool, sequence{0, 1, pools}),
		insert(ctx, w, query.WorkQueue, workQueue, sequence{0, 1, queues}),
		insert(ctx, w, query.FlowRun, func(i int) *orchv1.FlowRun { return flowRun(i, n) }, sequence{0, 1, n}),
	)
}

// fillRelated stores task runs, logs and artifacts of the n runs of a store.
func (w *world) fillRelated(ctx context.Context, n int) error {
	return errors.Join(
		insert(ctx, w, query.TaskRun, func(i int) *orchv1.TaskRun { return taskRun(i, n) }, sequence{1, 5, n}),
		insert(ctx, w, query.Log, func(i int) *orchv1.Log { return logLine(i, n) }, sequence{2, 5, n}),
		insert(ctx, w, query.Artifact, func(i int) *orchv1.Artifact { return artifact(i, n) }, sequence{3, 100, n}),
		insert(ctx, w, query.ArtifactLatest, func(i int) *orchv1.ArtifactCollection { return latestArtifact(i, n) }, sequence{0, 1, latest}),
	)
}

// sequence is every step-th number from begin until end.
type sequence struct{ begin, step, end int }

// insert stores the documents of the numbers of a sequence, behind those that are stored.
func insert[M proto.Message](ctx context.Context, w *world, c query.Collection, document func(int) M, s sequence) error {
	collection := store.NewCollection(w.store, c, document(s.begin))
	stored, err := collection.Count(ctx, request.DefaultWorkspace, store.Query{})
	if err != nil {
		return fmt.Errorf("count %s: %w", c, err)
	}
	docs := make([]bson.Raw, 0, batch)
	for i := s.begin + int(stored)*s.step; i < s.end; i += s.step {
		doc, err := store.NewDocument(request.DefaultWorkspace, document(i), time.Time{})
		if err != nil {
			return err
		}
		if docs = append(docs, doc); len(docs) == batch || i+s.step >= s.end {
			if err := collection.InsertNew(ctx, docs); err != nil {
				return fmt.Errorf("fill %s: %w", c, err)
			}
			docs = docs[:0]
		}
	}
	return nil
}
