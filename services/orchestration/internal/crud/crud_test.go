package crud_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const noVariable crud.NotFound = "Variable not found."

// variables is a noun with the functions that its use cases pass to this package.
type variables struct {
	*store.Collection[*orchv1.Variable]
	lifecycle crud.Lifecycle[*orchv1.Variable]
}

func newVariables(t *testing.T) variables {
	t.Helper()
	s := storetest.Embedded(t, clock.System{})
	return variables{
		Collection: store.NewCollection(s, query.Variable, &orchv1.Variable{}),
		lifecycle: crud.Lifecycle[*orchv1.Variable]{
			Store: s, Vocabulary: vocabulary.Orch, Kind: "variable", Name: (*orchv1.Variable).GetName,
			Payload: []protoreflect.Name{"name", "tags"},
		},
	}
}

func (v variables) insert(ctx context.Context, ws uuid.UUID, m *orchv1.Variable) error {
	created, err := v.lifecycle.Created(ctx, ws, m)
	if err != nil {
		return err
	}
	return v.Insert(ctx, ws, m, created...)
}

func (v variables) change(ctx context.Context, ws, id uuid.UUID, edit func(*orchv1.Variable) error) (*orchv1.Variable, error) {
	return v.Mutate(ctx, ws, id, store.Edit(edit, v.lifecycle.Updated(ctx, ws)))
}

func (v variables) remove(ctx context.Context, ws, id uuid.UUID) error {
	return v.Delete(ctx, ws, id, v.lifecycle.Deleted(ctx, ws))
}

func (v variables) byName(ctx context.Context, ws uuid.UUID, name string) (*orchv1.Variable, error) {
	return v.First(ctx, ws, bson.D{{Key: "name", Value: name}})
}

func (v variables) replacement(name string) crud.Replacement[*orchv1.Variable] {
	return crud.Replacement[*orchv1.Variable]{
		NotFound: noVariable,
		Build: func(id uuid.UUID) (*orchv1.Variable, error) {
			return &orchv1.Variable{Id: id.String(), Name: name}, nil
		},
		Change: v.change,
		Insert: v.insert,
	}
}

// published returns the events in a variable's outbox.
func (v variables) published(t *testing.T, id uuid.UUID) (names []string, payloads []map[string]any) {
	t.Helper()
	effects, err := v.Store().Pending(t.Context(), query.Variable, store.DocumentKey{ID: id})
	require.NoError(t, err)
	for _, e := range effects {
		if e.Kind != events.KindPublish {
			continue
		}
		// The body is the workspace's id and the event.
		event := &orchv1.ReceivedEvent{}
		require.NoError(t, proto.Unmarshal(e.Body[len(uuid.UUID{}):], event))
		names = append(names, event.GetEvent())
		var payload map[string]any
		require.NoError(t, json.Unmarshal(event.GetPayload(), &payload))
		payloads = append(payloads, payload)
	}
	return names, payloads
}

func TestUnknownResourcesAre404(t *testing.T) {
	t.Parallel()
	v := newVariables(t)
	ctx := requesttest.Incoming(t, uuid.New())
	elsewhere := uuid.New()
	other := &orchv1.Variable{Id: uuid.NewString(), Name: "other"}
	require.NoError(t, v.insert(t.Context(), elsewhere, other))
	nothing := func(*orchv1.Variable) error { return nil }
	for name, id := range map[string]string{"unknown": uuid.NewString(), "malformed": "no id", "of another workspace": other.GetId()} {
		_, read := crud.ByID(ctx, noVariable, id, v.Get)
		_, update := crud.Update(ctx, noVariable, id, v.change, nothing)
		_, removal := crud.Delete(ctx, noVariable, id, v.remove)
		for _, err := range []error{read, update, removal} {
			require.Equal(t, int32(404), rpc.HTTPError(err).GetStatus(), name)
			require.Equal(t, "Variable not found.", rpc.HTTPError(err).GetDetail(), name)
		}
	}
	_, err := crud.ByKey(ctx, noVariable, "other", v.byName)
	require.Equal(t, int32(404), rpc.HTTPError(err).GetStatus())
	found, err := crud.ByKey(requesttest.Incoming(t, elsewhere), noVariable, "other", v.byName)
	require.NoError(t, err)
	require.Equal(t, other.GetId(), found.GetId())
}

// An error without a response hides what the function returned beside it.
func TestOtherErrorsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	ctx, cause := requesttest.Incoming(t, uuid.New()), errors.New("cause")
	refuse := func(context.Context, uuid.UUID, uuid.UUID) error { return cause }
	response, err := crud.Delete(ctx, noVariable, uuid.NewString(), refuse)
	require.Nil(t, response)
	require.Equal(t, cause, err)
	response, err = crud.Delete(t.Context(), noVariable, uuid.NewString(), refuse)
	require.Nil(t, response)
	require.ErrorIs(t, err, request.ErrNoWorkspace)
	_, err = crud.ByKey(t.Context(), noVariable, "name", func(context.Context, uuid.UUID, string) (int, error) { return 1, nil })
	require.ErrorIs(t, err, request.ErrNoWorkspace)
}

func TestEachWritePublishesItsEvent(t *testing.T) {
	t.Parallel()
	v, ws, id := newVariables(t), uuid.New(), uuid.New()
	ctx := requesttest.Incoming(t, ws)
	require.NoError(t, v.insert(ctx, ws, &orchv1.Variable{Id: id.String(), Name: "before"}))
	update := crud.Masked[*orchv1.Variable](&orchv1.VariableUpdate{Name: proto.String("after")}, &fieldmaskpb.FieldMask{Paths: []string{"name"}})
	for range 2 { // The second update changes nothing and publishes nothing.
		_, err := crud.Update(ctx, noVariable, id.String(), v.change, update)
		require.NoError(t, err)
	}
	_, err := crud.Delete(ctx, noVariable, id.String(), v.remove)
	require.NoError(t, err)
	names, payloads := v.published(t, id)
	require.Equal(t, []string{"orch.variable.created", "orch.variable.updated", "orch.variable.deleted"}, names)
	require.Equal(t, "before", payloads[0]["name"])
	require.NotContains(t, payloads[0], "updated_fields")
	require.Equal(t, []any{"name"}, payloads[1]["updated_fields"])
	require.Equal(t, "after", payloads[1]["name"])
	require.Equal(t, "after", payloads[2]["name"])
}

func TestPutReplacesOrCreates(t *testing.T) {
	t.Parallel()
	v, ws, id := newVariables(t), uuid.New(), uuid.New()
	ctx, status := withStatus(t, ws)
	created, err := v.replacement("first").Put(ctx, id.String())
	require.NoError(t, err)
	require.Equal(t, "first", created.GetName())
	require.Equal(t, 201, status.get(t))

	ctx, status = withStatus(t, ws)
	replaced, err := v.replacement("second").Put(ctx, id.String())
	require.NoError(t, err)
	require.Equal(t, "second", replaced.GetName())
	require.Equal(t, created.GetCreated().AsTime(), replaced.GetCreated().AsTime(), "the time of creation stays")
	require.Equal(t, 0, status.get(t), "the method's own status")

	_, err = v.replacement("second").Put(ctx, uuid.NewString())
	require.ErrorIs(t, err, store.ErrDuplicate)
	_, err = v.replacement("third").Put(ctx, "no id")
	require.Equal(t, int32(404), rpc.HTTPError(err).GetStatus())
	cause := errors.New("malformed name")
	refusing := v.replacement("third")
	refusing.Build = func(uuid.UUID) (*orchv1.Variable, error) { return nil, cause }
	_, err = refusing.Put(ctx, id.String())
	require.Equal(t, cause, err)
}

// A creation between the attempt to replace and the insert wins, and the caller gets the conflict.
func TestAConcurrentCreationWins(t *testing.T) {
	t.Parallel()
	v, ws, id := newVariables(t), uuid.New(), uuid.New()
	ctx := requesttest.Incoming(t, ws)
	r := v.replacement("late")
	var once sync.Once
	r.Insert = func(ctx context.Context, ws uuid.UUID, m *orchv1.Variable) error {
		once.Do(func() { require.NoError(t, v.insert(ctx, ws, &orchv1.Variable{Id: id.String(), Name: "early"})) })
		return v.insert(ctx, ws, m)
	}
	_, err := r.Put(ctx, id.String())
	require.ErrorIs(t, err, store.ErrDuplicate)
	found, err := v.Get(ctx, ws, id)
	require.NoError(t, err)
	require.Equal(t, "early", found.GetName())
}

// status is the transport stream of a request, which receives the status of its response.
type status struct {
	grpc.ServerTransportStream
	header metadata.MD
}

func (s *status) SetHeader(md metadata.MD) error {
	s.header = metadata.Join(s.header, md)
	return nil
}

// get returns the status that the method set; 0 if it set none.
func (s *status) get(t *testing.T) int {
	t.Helper()
	for _, values := range s.header {
		code, err := strconv.Atoi(values[0])
		require.NoError(t, err)
		return code
	}
	return 0
}

func withStatus(t *testing.T, ws uuid.UUID) (context.Context, *status) {
	t.Helper()
	s := &status{}
	return grpc.NewContextWithServerTransportStream(requesttest.Incoming(t, ws), s), s
}
