package query

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/protobson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// world is a workspace with a few documents of every collection.
type world struct {
	ws   uuid.UUID
	docs map[Collection][]fields
}

// shapes are the fields of collections without a message here: the fields that relations and filters refer to.
var shapes = map[Collection][]string{
	TaskRun:    {"flow_run_id?", "flow_id?", "deployment_id?", "name", "tags", "state.type"},
	Deployment: {"flow_id", "work_queue_id?", "name", "tags", "paused"},
	WorkQueue:  {"work_pool_id", "name"},
	WorkPool:   {"name", "type"},
}

// newWorld inserts random documents, some of another workspace and some that are being deleted.
func newWorld(ctx context.Context, t *rapid.T, db *mongo.Database) *world {
	w := &world{ws: uuid.New(), docs: map[Collection][]fields{}}
	other := uuid.New()
	insert := func(c Collection, flat fields, doc bson.D, ws uuid.UUID, deleted bool) {
		// Ids are unique in a collection, and worlds share it.
		_, err := db.Collection(string(c)).InsertOne(ctx, doc)
		require.NoError(t, err)
		if ws == w.ws && !deleted {
			w.docs[c] = append(w.docs[c], flat)
		}
	}
	start := func() (uuid.UUID, bool) {
		switch rapid.IntRange(0, 19).Draw(t, "place") {
		case 0:
			return other, false
		case 1:
			return w.ws, true
		}
		return w.ws, false
	}
	for _, c := range []Collection{Flow, FlowRun, Webhook} {
		for _, id := range someIDs[:rapid.IntRange(2, len(someIDs)).Draw(t, string(c))] {
			var m proto.Message
			switch c {
			case Flow:
				m = generate[*orchv1.Flow](t)
			case FlowRun:
				m = generate[*orchv1.FlowRun](t)
			case Webhook:
				m = generate[*orchv1.Webhook](t)
			}
			m.ProtoReflect().Set(m.ProtoReflect().Descriptor().Fields().ByName("id"), protoreflect.ValueOfString(id))
			flat := fields{}
			flatten(m.ProtoReflect(), "", flat)
			raw, err := protobson.MarshalDocument(m)
			require.NoError(t, err)
			var doc bson.D
			require.NoError(t, bson.Unmarshal(raw, &doc))
			ws, deleted := start()
			insert(c, flat, append(envelope(ws, deleted), doc...), ws, deleted)
		}
	}
	for _, c := range []Collection{TaskRun, Deployment, WorkQueue, WorkPool} {
		for _, id := range someIDs[:rapid.IntRange(2, len(someIDs)).Draw(t, string(c))] {
			ws, deleted := start()
			flat, doc := generateShape(t, shapes[c], id)
			insert(c, flat, append(envelope(ws, deleted), doc...), ws, deleted)
		}
	}
	return w
}

func generateShape(t *rapid.T, shape []string, id string) (fields, bson.D) {
	flat := fields{"_id": id}
	doc := bson.D{{Key: "_id", Value: binary(uuid.MustParse(id))}}
	for _, path := range shape {
		path, optional := strings.CutSuffix(path, "?")
		if optional && rapid.Bool().Draw(t, path) {
			continue
		}
		switch {
		case strings.HasSuffix(path, "_id"):
			v := rapid.SampledFrom(someIDs).Draw(t, path)
			flat[path] = v
			doc = append(doc, bson.E{Key: path, Value: binary(uuid.MustParse(v))})
		case path == "tags":
			v := rapid.SliceOfN(rapid.SampledFrom(someTexts), 0, 2).Draw(t, path)
			flat[path] = v
			if len(v) > 0 || rapid.Bool().Draw(t, "left empty") {
				doc = append(doc, bson.E{Key: path, Value: v})
			}
		case path == "state.type":
			v := rapid.SampledFrom([]string{"SCHEDULED", "PENDING", "RUNNING"}).Draw(t, path)
			flat[path] = v
			doc = append(doc, bson.E{Key: "state", Value: bson.D{{Key: "type", Value: v}}})
		case path == "paused":
			v := rapid.Bool().Draw(t, path)
			flat[path] = v
			doc = append(doc, bson.E{Key: path, Value: v})
		default:
			v := rapid.SampledFrom(someTexts).Draw(t, path)
			flat[path] = v
			doc = append(doc, bson.E{Key: path, Value: v})
		}
	}
	return flat, doc
}

func (w *world) clean(ctx context.Context, t *rapid.T, db *mongo.Database) {
	for _, c := range []Collection{Flow, FlowRun, Webhook, TaskRun, Deployment, WorkQueue, WorkPool, Event} {
		_, err := db.Collection(string(c)).DeleteMany(ctx, bson.D{})
		require.NoError(t, err)
	}
}

// any reports whether a document of c has a value at path that ok accepts.
func (w *world) any(c Collection, path string, value any, ok func(fields) bool) bool {
	return slices.ContainsFunc(w.docs[c], func(d fields) bool {
		v, present := d[path]
		return present && v == value && ok(d)
	})
}

func every(fields) bool { return true }

// matches evaluates the own filter of a collection on one of its documents.
func (w *world) matches(m protoreflect.Message, d fields) bool {
	return holds(m, d, "", func(name protoreflect.FullName, m protoreflect.Message) bool {
		switch f := m.Interface().(type) {
		case *orchv1.IsNullFilter:
			return f.IsNull_ == nil || w.any(Deployment, "flow_id", d["_id"], every) != f.GetIsNull_()
		case *orchv1.OperatorUuidFilter:
			return f.Any_ == nil || d["parent_task_run_id"] != nil &&
				w.any(TaskRun, "_id", d["parent_task_run_id"], func(tr fields) bool {
					run, _ := tr["flow_run_id"].(string)
					return slices.Contains(f.Any_.Values, run)
				})
		case *orchv1.ExistsFilter:
			return f.Exists_ == nil || w.any(FlowRun, "parent_task_run_id", d["_id"], every) == f.GetExists_()
		case *orchv1.LikeFilter:
			return f.Like_ == nil || holds(m, d, "name", nil) ||
				w.any(Flow, "_id", d["flow_id"], func(fl fields) bool { return holds(m, fl, "name", nil) })
		}
		panic(name)
	})
}

// filtersOf returns the filters of a query message that are set.
func filtersOf(q protoreflect.Message) map[Collection]protoreflect.Message {
	set := map[Collection]protoreflect.Message{}
	for name, c := range queryFields {
		if fd := q.Descriptor().Fields().ByName(protoreflect.Name(name)); fd != nil && q.Has(fd) {
			set[c] = q.Get(fd).Message()
		}
	}
	return set
}

// selected evaluates a query on a document of own, collection by collection, as the documentation of the filters
// defines it.
func (w *world) selected(own Collection, d fields, set map[Collection]protoreflect.Message) bool {
	ok := func(c Collection, d fields) bool { return set[c] == nil || w.matches(set[c], d) }
	queue := func(d fields) bool { // A document with a work queue.
		if set[WorkQueue] == nil && set[WorkPool] == nil {
			return true
		}
		return w.any(WorkQueue, "_id", d["work_queue_id"], func(q fields) bool {
			return ok(WorkQueue, q) && (set[WorkPool] == nil ||
				w.any(WorkPool, "_id", q["work_pool_id"], func(p fields) bool { return ok(WorkPool, p) }))
		})
	}
	run := func(r fields) bool { // A run that flows or deployments are selected by.
		return ok(FlowRun, r) && (set[TaskRun] == nil ||
			w.any(TaskRun, "flow_run_id", r["_id"], func(tr fields) bool { return ok(TaskRun, tr) }))
	}
	if !ok(own, d) {
		return false
	}
	// byRuns reports whether the document is selected by its runs; field refers to it. Task runs refer to it themselves.
	byRuns := func(field string) bool {
		if set[FlowRun] == nil && set[TaskRun] != nil {
			return w.any(TaskRun, field, d["_id"], func(tr fields) bool { return ok(TaskRun, tr) })
		}
		return set[FlowRun] == nil || w.any(FlowRun, field, d["_id"], run)
	}
	is := func(c Collection) func(fields) bool { return func(d fields) bool { return ok(c, d) } }
	switch own {
	case Flow:
		return byRuns("flow_id") &&
			(set[Deployment] == nil && set[WorkQueue] == nil && set[WorkPool] == nil ||
				w.any(Deployment, "flow_id", d["_id"], func(dp fields) bool { return ok(Deployment, dp) && queue(dp) }))
	case FlowRun:
		return queue(d) && (set[Flow] == nil || w.any(Flow, "_id", d["flow_id"], is(Flow))) &&
			(set[Deployment] == nil || w.any(Deployment, "_id", d["deployment_id"], is(Deployment))) &&
			(set[TaskRun] == nil || w.any(TaskRun, "flow_run_id", d["_id"], is(TaskRun)))
	case TaskRun:
		return (set[FlowRun] == nil && set[WorkQueue] == nil && set[WorkPool] == nil ||
			w.any(FlowRun, "_id", d["flow_run_id"], func(r fields) bool { return ok(FlowRun, r) && queue(r) })) &&
			(set[Flow] == nil || w.any(Flow, "_id", d["flow_id"], is(Flow))) &&
			(set[Deployment] == nil || w.any(Deployment, "_id", d["deployment_id"], is(Deployment)))
	case Deployment:
		return queue(d) && (set[Flow] == nil || w.any(Flow, "_id", d["flow_id"], is(Flow))) &&
			byRuns("deployment_id")
	}
	return true
}
