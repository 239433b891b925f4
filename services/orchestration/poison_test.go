package orchestration_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/secrets"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// One document of each kind of effect that can never be executed, among 1,000 healthy ones: all healthy effects are
// executed once, every bad one is in the dead letters with its reason, and none is left in an outbox.
func TestPoisonOfEveryKindStopsNobody(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	st, relay := d.service.Parts()
	flows, ws := store.NewCollection(st, query.Flow, &orchv1.Flow{}), request.DefaultWorkspace
	insert := func(effect store.Effect) {
		id := uuid.NewString()
		require.NoError(t, flows.Insert(t.Context(), ws, &orchv1.Flow{Id: id, Name: id}, effect))
	}
	kinds := relay.Kinds()
	require.Greater(t, len(kinds), 15)
	poison := map[uuid.UUID]string{}
	for _, kind := range append(kinds, "unknown kind") {
		effect := store.Effect{ID: uuid.New(), At: st.Now(), Kind: kind, Body: []byte("secret!")}
		poison[effect.ID] = kind
		insert(effect)
	}
	large := &orchv1.ReceivedEvent{
		Id: uuid.NewString(), Event: "too.large", Occurred: timestamppb.Now(), Received: timestamppb.Now(),
		Payload:  fmt.Appendf(nil, "{%q:%q}", "text", strings.Repeat("x", 2<<20)),
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "poison"}},
	}
	effect, err := events.Publish(ws, large)
	require.NoError(t, err)
	poison[effect.ID] = effect.Kind
	insert(effect)

	const healthy = 1000
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range healthy / 16 {
				d.flow(uuid.NewString())
			}
		})
	}
	group.Wait()
	written := time.Now()
	const blocked = 2 // The kinds that others must not overtake.
	var pending int64
	require.Eventually(t, func() bool {
		var err error
		pending, _, err = relay.Backlog(t.Context())
		return err == nil && pending == blocked
	}, 10*time.Second, 10*time.Millisecond, "only blocked documents keep their effects; pending")
	t.Logf("all healthy effects executed %s after the last write", time.Since(written))

	listed := call[*orchv1.DeadLetterList](d, orchv1.DeadLetterService_ReadDeadLetters_FullMethodName, &orchv1.ReadDeadLettersRequest{})
	for _, letter := range listed.GetDeadLetters() {
		require.Equal(t, poison[uuid.MustParse(letter.GetId())], letter.GetKind(), letter)
		require.NotEmpty(t, letter.GetReason())
		require.NotContains(t, letter.String(), "secret!")
		delete(poison, uuid.MustParse(letter.GetId()))
	}
	require.Empty(t, poison, "each poisoned effect is in the dead letters")
	require.EqualValues(t, blocked, pending)
	_, oldest, err := relay.Backlog(t.Context())
	require.NoError(t, err)
	require.Positive(t, oldest, "the blocked effects have an age")

	for _, letter := range listed.GetDeadLetters() {
		code, text := d.retryDeadLetter(letter.GetId())
		require.Equal(t, 409, code, text)
		require.NotContains(t, text, "secret!")
	}
	d.noDeadLetterHolds("secret!")
	mended := 0
	for _, letter := range listed.GetDeadLetters() {
		if d.mend(letter) {
			mended++
			code, text := d.retryDeadLetter(letter.GetId())
			require.Equal(t, 404, code, "a dead letter is executed once: %s", text)
			continue
		}
		require.Equal(t, "unknown kind", letter.GetKind(), "only an effect without a handler cannot be mended")
		call[*emptypb.Empty](d, orchv1.DeadLetterService_DiscardDeadLetter_FullMethodName, &orchv1.DiscardDeadLetterRequest{Id: letter.GetId()})
	}
	require.Equal(t, len(listed.GetDeadLetters())-1, mended)
	require.Empty(t, d.deadLetters())
	eventually(t, func() bool {
		pending, _, err := relay.Backlog(t.Context())
		return err == nil && pending == 0
	}, "blocked documents go on")
}

// retryDeadLetter returns the status and the text of a failure; 0 is success.
func (d *domain) retryDeadLetter(id string) (int, string) {
	_, _, err := try[*emptypb.Empty](d, orchv1.DeadLetterService_RetryDeadLetter_FullMethodName, &orchv1.RetryDeadLetterRequest{Id: id})
	if err == nil {
		return 0, ""
	}
	return status(err)
}

// mend replaces the body of an effect's dead letter by one that its handler can execute, and retries it.
func (d *domain) mend(letter *orchv1.DeadLetter) bool {
	d.t.Helper()
	st, _ := d.service.Parts()
	stored, err := st.DeadLetter(d.t.Context(), uuid.MustParse(letter.GetId()))
	require.NoError(d.t, err)
	for _, body := range mendedBodies(d.t, st.Now()) {
		stored.Body, err = d.keys.Seal(secrets.FieldRef{Workspace: stored.Workspace, Document: stored.ID, Field: "dead_letter.body"}, body)
		require.NoError(d.t, err)
		require.NoError(d.t, st.InsertDeadLetter(d.t.Context(), stored))
		if code, _ := d.retryDeadLetter(letter.GetId()); code == 0 {
			return true
		}
	}
	return false
}

// mendedBodies are bodies that the handlers of all kinds can execute, each of them some: they speak of things that do not
// exist.
func mendedBodies(t *testing.T, now time.Time) [][]byte {
	t.Helper()
	ws, nobody, at := request.DefaultWorkspace, uuid.New(), timestamppb.New(now)
	state := &orchv1.State{Id: uuid.NewString(), Type: completed, Timestamp: at}
	carry := func(m proto.Message) []byte {
		effect, err := store.MessageEffect("", uuid.New(), now, ws, m)
		require.NoError(t, err)
		return effect.Body
	}
	event, err := events.Publish(ws, &orchv1.ReceivedEvent{
		Id: uuid.NewString(), Event: "mended", Occurred: at, Received: at,
		Resource: &orchv1.Resource{Labels: map[string]string{"orch.resource.id": "mended"}},
	})
	require.NoError(t, err)
	pair := slices.Concat(ws[:], nobody[:])
	return [][]byte{
		event.Body,
		carry(&orchv1.FlowRunStateRecord{Id: state.GetId(), FlowRunId: nobody.String(), Timestamp: at, State: state}),
		carry(&orchv1.SubflowState{TaskRunId: nobody.String(), FlowRunId: nobody.String(), State: state}),
		carry(&orchv1.FlowRetry{FlowRunId: nobody.String(), State: state}),
		carry(&orchv1.CleanupJob{Id: nobody.String(), WorkPoolId: nobody.String(), FlowRunId: nobody.String()}),
		carry(&orchv1.AutomationActionRun{
			Id:         nobody.String(),
			Automation: &orchv1.Automation{Id: nobody.String()}, TriggeredEventId: nobody.String(), Firing: &orchv1.AutomationFiring{Triggered: now.UnixMicro()},
			Action: &orchv1.Action{Kind: &orchv1.Action_DoNothing{DoNothing: &orchv1.DoNothing{}}},
		}),
		carry(&orchv1.DestinationDelivery{Id: nobody.String(), DestinationId: nobody.String(), EventId: nobody.String()}),
		slices.Concat(pair, []byte("workspace")), slices.Concat(pair, []byte("{}")), slices.Concat(pair, make([]byte, 8)),
		slices.Concat(pair, make([]byte, 1)), pair, nobody[:],
	}
}

// noDeadLetterHolds checks that the stored dead letters of effects do not hold a text, in whichever field.
func (d *domain) noDeadLetterHolds(text string) {
	d.t.Helper()
	cursor, err := d.store.Connect().Collection("dead_letter").Find(d.t.Context(), bson.D{})
	require.NoError(d.t, err)
	defer cursor.Close(d.t.Context())
	found := 0
	for cursor.Next(d.t.Context()) {
		found++
		require.False(d.t, bytes.Contains(cursor.Current, []byte(text)), "a dead letter holds a secret in the clear")
	}
	require.NoError(d.t, cursor.Err())
	require.NotZero(d.t, found)
}
