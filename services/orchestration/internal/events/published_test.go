package events

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// An effect that has not left the process has the event that one from the outbox has, whatever happens to the states afterwards.
func TestPublishedEventsAreThoseOfTheOutbox(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	before := &orchv1.State{Id: uuid.NewString(), Name: new("Pending"), Type: orchv1.StateType_STATE_TYPE_PENDING, Timestamp: timestamppb.New(at)}
	state := &orchv1.State{Id: uuid.NewString(), Name: new("Running"), Type: orchv1.StateType_STATE_TYPE_RUNNING, Timestamp: timestamppb.New(at.Add(time.Second))}
	v := vocabulary.Orch
	ws := uuid.New()
	effect, err := Publish(ws, Transition{
		Kind: "flow-run", Of: uuid.NewString(), Name: "run", RunCount: 1,
		Judgement: &rules.Judgement{Initial: before, Proposed: state, Intended: state.GetType(), Now: at.Add(2 * time.Second)},
		Related:   []*orchv1.RelatedResource{Related(v, "flow", uuid.NewString(), "flow", "f")},
	}.Event(v))
	require.NoError(t, err)
	for _, s := range []*orchv1.State{before, state} {
		s.Id, *s.Name, s.Timestamp.Seconds = "changed", "changed", 1
	}
	kept, got, err := published(effect)
	require.NoError(t, err)
	require.Same(t, effect.Message, got)
	require.Equal(t, ws, kept)

	effect.Message = nil
	_, stored, err := published(effect)
	require.NoError(t, err)
	require.True(t, proto.Equal(stored, got), "%v\n%v", stored, got)
}
