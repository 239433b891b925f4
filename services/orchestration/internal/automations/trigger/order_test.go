package trigger

import (
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var orderNoon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// following returns an event that follows another one, some seconds after noon.
func following(leader uuid.UUID, seconds int) *orchv1.ReceivedEvent {
	text := leader.String()
	return &orchv1.ReceivedEvent{
		Id: uuid.NewString(), Follows: &text, Occurred: timestamppb.New(orderNoon.Add(time.Duration(seconds) * time.Second)),
	}
}

func admit(o *Order, e *orchv1.ReceivedEvent) []*orchv1.ReceivedEvent {
	return o.Admit(e, orderNoon, orderNoon)
}

// Events whose leaders never come would fill the memory, and each release would look through them.
func TestEventsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	o := NewOrder(nil)
	first := following(uuid.New(), 0)
	require.Empty(t, admit(o, first))
	for range maxHeld - 1 {
		require.Empty(t, admit(o, following(uuid.New(), 0)))
	}
	beyond := following(uuid.New(), 0)
	require.Equal(t, []*orchv1.ReceivedEvent{beyond}, admit(o, beyond), "an event beyond the bound does not wait")
	require.Empty(t, admit(o, first), "a duplicate of an event that waits does")
	require.Len(t, o.Held(), maxHeld)
	require.Len(t, o.Expire(orderNoon.Add(holdFor)), maxHeld)
	require.Empty(t, o.followers)
}

// An event is released once, after the leader that it named last.
func TestAnEventMayChangeItsLeader(t *testing.T) {
	t.Parallel()
	o := NewOrder(nil)
	old, current := &orchv1.ReceivedEvent{Id: uuid.NewString()}, &orchv1.ReceivedEvent{Id: uuid.NewString()}
	e := following(uuid.MustParse(old.GetId()), 1)
	require.Empty(t, admit(o, e))
	again := following(uuid.MustParse(current.GetId()), 1)
	again.Id = e.GetId()
	require.Empty(t, admit(o, again))
	require.Equal(t, []*orchv1.ReceivedEvent{old}, admit(o, old))
	require.Equal(t, []*orchv1.ReceivedEvent{current, again}, admit(o, current))
	require.Empty(t, o.followers)
}

// After a failed evaluation the followers of a leader wait for it again.
func TestUndoRestoresFollowers(t *testing.T) {
	t.Parallel()
	o := NewOrder(nil)
	leader := &orchv1.ReceivedEvent{Id: uuid.NewString()}
	of := uuid.MustParse(leader.GetId())
	second, first := following(of, 2), following(of, 1)
	require.Empty(t, admit(o, second))
	require.Empty(t, admit(o, first))
	held := maps.Clone(o.Held())
	want := []*orchv1.ReceivedEvent{leader, first, second}
	released := admit(o, leader)
	require.Equal(t, want, released)
	o.Undo(released, held)
	require.Equal(t, want, admit(o, leader))
	require.Empty(t, o.Held())
}
