package conversion

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// messages are the types of the stored documents. Dead letters have none.
var messages = map[query.Collection]proto.Message{
	query.Flow: &orchv1.Flow{}, query.FlowRun: &orchv1.FlowRun{}, query.FlowRunState: &orchv1.FlowRunStateRecord{},
	query.FlowRunInput: &orchv1.FlowRunInput{}, query.TaskRun: &orchv1.TaskRun{}, query.TaskRunState: &orchv1.TaskRunStateRecord{},
	query.TaskRunCache: &orchv1.TaskRunCacheEntry{}, query.TaskWorker: &orchv1.TaskWorker{}, query.Deployment: &orchv1.Deployment{}, query.Backfill: &orchv1.Backfill{},
	query.WorkPool: &orchv1.WorkPool{}, query.WorkQueue: &orchv1.WorkQueue{}, query.Worker: &orchv1.Worker{},
	query.Webhook: &orchv1.Webhook{}, query.WebhookDelivery: &orchv1.WebhookDelivery{}, query.WebhookWatch: &orchv1.WebhookWatch{},
	query.WebhookSample: &orchv1.WebhookSample{},
	query.Event:         &orchv1.ReceivedEvent{}, query.EventType: &orchv1.EventType{}, query.Log: &orchv1.Log{}, query.Artifact: &orchv1.Artifact{},
	query.ArtifactLatest: &orchv1.ArtifactCollection{}, query.Variable: &orchv1.Variable{}, query.SavedSearch: &orchv1.SavedSearch{},
	query.Asset: &orchv1.Asset{}, query.BlockType: &orchv1.BlockType{}, query.BlockSchema: &orchv1.BlockSchema{},
	query.BlockDocument: &orchv1.BlockDocument{}, query.Automation: &orchv1.Automation{}, query.AutomationBucket: &orchv1.AutomationBucket{},
	query.AutomationHold: &orchv1.AutomationHold{}, query.AutomationAction: &orchv1.AutomationActionRun{},
	query.AutomationKey: &orchv1.AutomationKey{}, query.Destination: &orchv1.Destination{}, query.DestinationDelivery: &orchv1.DestinationDelivery{},
	query.Configuration:   &orchv1.ServerDefaultResultStorage{},
	query.RetentionPolicy: &orchv1.RetentionPolicy{}, query.RunTimeouts: &orchv1.RunTimeouts{}, query.AccountUsage: &orchv1.AccountUsage{}, query.Account: &orchv1.Account{}, query.Workspace: &orchv1.Workspace{},
	query.User: &orchv1.User{}, query.Membership: &orchv1.AccountMembership{}, query.ServiceAccount: &orchv1.ServiceAccount{},
	query.WorkspaceRole: &orchv1.WorkspaceRole{}, query.WorkspaceAccess: &orchv1.WorkspaceAccess{}, query.Team: &orchv1.Team{},
	query.CleanupJob: &orchv1.CleanupJob{}, query.ConcurrencyLimit: &orchv1.ConcurrencyLimitV2{}, query.ConcurrencyLease: &orchv1.ConcurrencyLease{},
}

// collections returns all collections. Buckets are first: their keys follow the labels of automations, which must not have
// changed yet.
func collections() []query.Collection {
	all := []query.Collection{query.AutomationBucket}
	for _, collection := range slices.Sorted(maps.Keys(messages)) {
		if collection != query.AutomationBucket {
			all = append(all, collection)
		}
	}
	return append(all, query.DeadLetter)
}

// outboxes selects documents with pending effects, by the index of the sweeper.
var outboxes = bson.D{{Key: "outbox.at", Value: bson.D{{Key: "$gt", Value: int64(0)}}}}

// scope selects the documents of a collection that can have names.
func scope(collection query.Collection) bson.D {
	m := messages[collection]
	if m == nil || holdsNames(m.ProtoReflect().Descriptor()) {
		return bson.D{}
	}
	return outboxes
}

// The bounds of one read and write of documents.
const (
	batchDocuments = 500
	batchBytes     = 8 << 20
)

// each calls visit with the documents of a collection in the order of their ids, in batches of bounded size.
func (c *Converter) each(ctx context.Context, collection query.Collection, visit func(batch []*document) error) error {
	coll := c.db.Collection(string(collection))
	filter, total, done := scope(collection), int64(0), int64(0)
	if len(filter) == 0 {
		var err error
		if total, err = coll.EstimatedDocumentCount(ctx); err != nil {
			return fmt.Errorf("count %ss: %w", collection, err)
		}
	}
	var after bson.RawValue
	for {
		batch, err := c.page(ctx, coll, collection, filter, after)
		if err != nil {
			return fmt.Errorf("read %ss: %w", collection, err)
		}
		if len(batch) == 0 {
			return nil
		}
		after = batch[len(batch)-1].id
		if err := visit(batch); err != nil {
			return fmt.Errorf("convert %ss: %w", collection, err)
		}
		done += int64(len(batch))
		c.progress(string(collection), done, max(total, done))
	}
}

// page reads the documents behind an id, up to the bounds of a batch.
func (c *Converter) page(ctx context.Context, coll *mongo.Collection, collection query.Collection, filter bson.D, after bson.RawValue) (_ []*document, err error) {
	if !after.IsZero() {
		filter = append(slices.Clone(filter), bson.E{Key: "_id", Value: bson.D{{Key: "$gt", Value: after}}})
	}
	cursor, err := coll.Find(ctx, filter, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(batchDocuments))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cursor.Close(context.WithoutCancel(ctx))) }()
	var batch []*document
	for size := 0; size < batchBytes && cursor.Next(ctx); {
		d, err := newDocument(collection, bytes.Clone(cursor.Current))
		if err != nil {
			return nil, err
		}
		batch, size = append(batch, d), size+len(d.raw)
	}
	return batch, cursor.Err()
}

// document is a stored document.
type document struct {
	collection query.Collection
	raw        bson.Raw
	id         bson.RawValue
	// workspace and uuid are nil for a document without them.
	workspace, uuid uuid.UUID
}

func newDocument(collection query.Collection, raw bson.Raw) (*document, error) {
	d := &document{collection: collection, raw: raw, id: raw.Lookup("_id")}
	for _, field := range []struct {
		to   *uuid.UUID
		name string
	}{{&d.workspace, "ws"}, {&d.uuid, "_id"}} {
		_, data, ok := raw.Lookup(field.name).BinaryOK()
		if !ok {
			continue
		}
		if parsed, err := uuid.FromBytes(data); err == nil { // A shared key is longer.
			*field.to = parsed
		}
	}
	if d.id.IsZero() {
		return nil, fmt.Errorf("a document of %s has no id", collection)
	}
	return d, nil
}

// filter selects the document, by the shard key of a sharded cluster too.
func (d *document) filter() bson.D {
	filter := bson.D{{Key: "_id", Value: d.id}}
	if ws := d.raw.Lookup("ws"); !ws.IsZero() {
		filter = append(filter, bson.E{Key: "ws", Value: ws})
	}
	return filter
}
