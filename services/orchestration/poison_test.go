package orchestration_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
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
		_, _, err := try[*emptypb.Empty](d, orchv1.DeadLetterService_RetryDeadLetter_FullMethodName, &orchv1.RetryDeadLetterRequest{Id: letter.GetId()})
		code, text := status(err)
		require.Equal(t, 409, code, text)
		call[*emptypb.Empty](d, orchv1.DeadLetterService_DiscardDeadLetter_FullMethodName, &orchv1.DiscardDeadLetterRequest{Id: letter.GetId()})
		_, _, err = try[*orchv1.DeadLetter](d, orchv1.DeadLetterService_ReadDeadLetter_FullMethodName, &orchv1.ReadDeadLetterRequest{Id: letter.GetId()})
		code, _ = status(err)
		require.Equal(t, 404, code)
	}
}
