package imports_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/imports"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// target is a database into which tests import.
type target struct {
	testing.TB
	database *mongotest.Database
	cfg      imports.Config
	importer *imports.Importer
}

func newTarget(t testing.TB) *target {
	t.Helper()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true, TestCommands: true})
	s := storetest.Connect(t, database, clock.NewManual(now))
	require.NoError(t, s.EnsureIndexes(t.Context(), query.Indexes()))
	keys, err := secrets.Parse(secrets.NewKey())
	require.NoError(t, err)
	cfg := imports.Config{
		Store: s, Workspace: uuid.New(), Vocabulary: vocabulary.Prefect, Keys: keys,
		EventsRetention: 7 * 24 * time.Hour, LogsRetention: 14 * 24 * time.Hour,
	}
	return &target{TB: t, database: database, cfg: cfg, importer: imports.New(cfg)}
}

// write imports resources of one kind, and returns the result without an error.
func (w *target) write(all ...imports.Resource) imports.Result {
	w.Helper()
	result, err := w.importer.Write(w.Context(), all)
	require.NoError(w, err)
	return result
}

// document reads the stored bytes of a document.
func (w *target) document(collection query.Collection, id string) bson.Raw {
	w.Helper()
	raw, err := w.database.Connect().Collection(string(collection)).FindOne(w.Context(),
		bson.D{{Key: "_id", Value: store.Binary(uuid.MustParse(id))}}).Raw()
	require.NoError(w, err)
	return raw
}

func newFlow(name string) *orchv1.Flow {
	return &orchv1.Flow{Id: uuid.NewString(), Name: name, Created: timestamppb.New(now), Updated: timestamppb.New(now)}
}

func newRun(flow *orchv1.Flow) *orchv1.FlowRun {
	return &orchv1.FlowRun{Id: uuid.NewString(), Name: "run", FlowId: flow.GetId(), Created: timestamppb.New(now), Updated: timestamppb.New(now)}
}

func TestWriteStoresAResourceOnce(t *testing.T) {
	t.Parallel()
	w := newTarget(t)
	a, b, c := newFlow("a"), newFlow("b"), newFlow("c")
	require.Equal(t, imports.Result{Stored: 2}, w.write(a, b))
	changed := newFlow("changed")
	changed.Id = a.GetId()
	require.Equal(t, imports.Result{Stored: 1, Existing: 2}, w.write(changed, b, c), "the next import continues")
	stored, err := w.importer.Stored(t.Context(), changed)
	require.NoError(t, err)
	require.Equal(t, "a", stored.(*orchv1.Flow).GetName(), "an existing document stays")
	require.Equal(t, imports.Result{}, w.write(), "an empty batch")
}

func TestWriteRefusesAResource(t *testing.T) {
	t.Parallel()
	t.Run("whose name another document has", func(t *testing.T) {
		t.Parallel()
		w := newTarget(t)
		first, second := newFlow("etl"), newFlow("etl")
		w.write(first)
		require.Equal(t, []imports.Refusal{{ID: second.GetId(), Reason: imports.ErrTaken}}, w.write(second, newFlow("other")).Refused)
		stored, err := w.importer.Stored(t.Context(), second)
		require.NoError(t, err)
		require.Nil(t, stored)
	})
	t.Run("whose id another workspace has", func(t *testing.T) {
		t.Parallel()
		w := newTarget(t)
		flow := newFlow("etl")
		w.write(flow)
		other := w.cfg
		other.Workspace = uuid.New()
		result, err := imports.New(other).Write(t.Context(), []imports.Resource{flow})
		require.NoError(t, err)
		require.Equal(t, []imports.Refusal{{ID: flow.GetId(), Reason: imports.ErrTaken}}, result.Refused)
	})
	t.Run("whose id is no UUID", func(t *testing.T) {
		t.Parallel()
		w := newTarget(t)
		result := w.write(&orchv1.Flow{Id: "7", Name: "etl"})
		require.Zero(t, result.Stored)
		require.Equal(t, "7", result.Refused[0].ID)
	})
	t.Run("that belongs to a refused one", func(t *testing.T) {
		t.Parallel()
		w := newTarget(t)
		kept, taken := newFlow("etl"), newFlow("etl")
		w.write(kept)
		w.write(taken)
		lost, found := newRun(taken), newRun(kept)
		result := w.write(lost, found)
		require.Equal(t, 1, result.Stored)
		require.Len(t, result.Refused, 1)
		require.Equal(t, lost.GetId(), result.Refused[0].ID)
		require.ErrorIs(t, result.Refused[0].Reason, imports.ErrOwner)
		state := &orchv1.FlowRunStateRecord{Id: uuid.NewString(), FlowRunId: lost.GetId(), State: &orchv1.State{Id: uuid.NewString(), Timestamp: timestamppb.New(now)}}
		require.ErrorIs(t, w.write(state).Refused[0].Reason, imports.ErrOwner, "at any depth")
	})
	t.Run("that belongs to one that the caller refused", func(t *testing.T) {
		t.Parallel()
		w := newTarget(t)
		flow := newFlow("etl")
		w.importer.Refuse(flow.GetId())
		require.ErrorIs(t, w.write(newRun(flow)).Refused[0].Reason, imports.ErrOwner)
	})
	t.Run("that breaks a rule, among others", func(t *testing.T) {
		t.Parallel()
		w := newTarget(t)
		event := func(name string) *orchv1.ReceivedEvent {
			return &orchv1.ReceivedEvent{
				Id: uuid.NewString(), Event: name, Occurred: timestamppb.New(now), Received: timestamppb.New(now),
				Resource: &orchv1.Resource{Labels: map[string]string{"prefect.resource.id": "shop.order.7"}},
			}
		}
		result := w.write(event("order.placed"), event(""), event("order.paid"))
		require.Equal(t, 2, result.Stored)
		require.ErrorContains(t, result.Refused[0].Reason, "event")
	})
	t.Run("that is no kind of an import", func(t *testing.T) {
		t.Parallel()
		_, err := newTarget(t).importer.Write(t.Context(), []imports.Resource{&orchv1.Webhook{Id: uuid.NewString()}})
		require.ErrorIs(t, err, imports.ErrUnsupported)
	})
}

// A document that the service would remove expires on the same day; others stay.
func TestWriteSetsTheTimeOfRemoval(t *testing.T) {
	t.Parallel()
	w := newTarget(t)
	created := now.Add(-24 * time.Hour)
	log := &orchv1.Log{Id: uuid.NewString(), Name: "a\x00b", Message: "c\x00", Created: timestamppb.New(created), Timestamp: timestamppb.New(created)}
	event := &orchv1.ReceivedEvent{
		Id: uuid.NewString(), Event: "order.placed", Occurred: timestamppb.New(created), Received: timestamppb.New(created),
		Resource: &orchv1.Resource{Labels: map[string]string{"prefect.resource.id": "shop.order.7"}},
	}
	flow := newFlow("etl")
	require.Equal(t, 1, w.write(log).Stored)
	require.Equal(t, 1, w.write(event).Stored)
	require.Equal(t, 1, w.write(flow).Stored)
	require.Equal(t, created.Add(w.cfg.LogsRetention), w.document(query.Log, log.GetId()).Lookup("expire_at").Time().UTC())
	require.Equal(t, created.Add(w.cfg.EventsRetention), w.document(query.Event, event.GetId()).Lookup("expire_at").Time().UTC())
	require.True(t, w.document(query.Flow, flow.GetId()).Lookup("expire_at").IsZero())
	stored, err := w.importer.Stored(t.Context(), log)
	require.NoError(t, err)
	require.Equal(t, "ab", stored.(*orchv1.Log).GetName(), "NUL bytes leave")
}

// Secrets of a block document are encrypted, once if its insertion is repeated; its schema must be there.
func TestWriteSealsBlockDocuments(t *testing.T) {
	t.Parallel()
	w := newTarget(t)
	kind := &orchv1.BlockType{Id: uuid.NewString(), Name: "Vault", Slug: "vault"}
	kindID := kind.GetId()
	schema := &orchv1.BlockSchema{
		Id: uuid.NewString(), BlockTypeId: &kindID, Checksum: "sha256:1", Version: "1",
		Fields: []byte(`{"type": "object", "properties": {"token": {"type": "string"}}, "secret_fields": ["token"], "block_type_slug": "vault"}`),
	}
	document := func(schema string) *orchv1.BlockDocument {
		name := "main"
		return &orchv1.BlockDocument{
			Id: uuid.NewString(), Name: &name, BlockTypeId: kind.GetId(), BlockSchemaId: schema, Data: []byte(`{"token": "horse battery"}`),
		}
	}
	require.Equal(t, 1, w.write(kind).Stored)
	require.Equal(t, 1, w.write(schema).Stored)
	orphan, whole := document(uuid.NewString()), document(schema.GetId())
	const notWritablePrimary = 10107
	w.database.FailCommands(t, bson.D{{Key: "times", Value: 1}}, bson.D{
		{Key: "failCommands", Value: bson.A{"insert"}}, {Key: "errorCode", Value: notWritablePrimary},
	})
	result := w.write(orphan, whole)
	require.Equal(t, 1, result.Stored)
	require.Equal(t, orphan.GetId(), result.Refused[0].ID)
	require.NotContains(t, w.document(query.BlockDocument, whole.GetId()).String(), "horse")
}

// A limit of a tag becomes one of the present kind, and its slots are free.
func TestWriteFreesSlots(t *testing.T) {
	t.Parallel()
	w := newTarget(t)
	tag := &orchv1.ConcurrencyLimit{Id: uuid.NewString(), Tag: "db", ConcurrencyLimit: 3}
	limit := &orchv1.ConcurrencyLimitV2{Id: uuid.NewString(), Name: "gpu", Limit: 2, ActiveSlots: 2, Active: true}
	require.Equal(t, 1, w.write(tag).Stored)
	require.Equal(t, 1, w.write(limit).Stored)
	for id, slots := range map[string]int32{tag.GetId(): 3, limit.GetId(): 2} {
		stored, err := w.importer.Stored(t.Context(), &orchv1.ConcurrencyLimitV2{Id: id})
		require.NoError(t, err)
		read := stored.(*orchv1.ConcurrencyLimitV2)
		require.EqualValues(t, slots, read.GetLimit())
		require.Zero(t, read.GetActiveSlots())
	}
}

// A canceled import is an error, and no refusal of its resources.
func TestWriteEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newTarget(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	flow := newFlow("etl")
	_, err := w.importer.Write(ctx, []imports.Resource{flow})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, w.write(newRun(flow)).Stored, "its runs are not refused")
}
