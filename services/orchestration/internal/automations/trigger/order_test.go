package trigger

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/testkit"
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
	large := func() *orchv1.ReceivedEvent {
		e := following(uuid.New(), 0)
		e.Payload = make([]byte, 1<<20)
		return e
	}
	labelled := func() *orchv1.ReceivedEvent {
		e := following(uuid.New(), 0)
		for range 100 {
			e.Related = append(e.Related, &orchv1.RelatedResource{Labels: map[string]string{"name": strings.Repeat("<", 5000)}})
		}
		return e
	}
	for name, test := range map[string]struct {
		event func() *orchv1.ReceivedEvent
		n     int
	}{
		"events":         {func() *orchv1.ReceivedEvent { return following(uuid.New(), 0) }, maxHeld},
		"large payloads": {large, 31},
		"large labels":   {labelled, 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := NewOrder(nil)
			if test.n < maxHeld {
				testkit.FillBound(t, "events that wait for the one that they follow", MaxHeldBytes, func() bool {
					return len(admit(o, test.event())) > 0
				}, o.DeferredBytes)
				o = NewOrder(nil)
			}
			oldest := test.event()
			require.Empty(t, admit(o, oldest))
			for range test.n - 1 {
				require.Empty(t, admit(o, test.event()))
			}
			require.Empty(t, admit(o, oldest), "a duplicate needs no room, and is the newest now")
			for _, h := range o.Deferred() {
				h.Received = orderNoon
			}
			require.Len(t, o.Deferred(), test.n)
			before := o.DeferredBytes()
			require.LessOrEqual(t, before, MaxHeldBytes)
			require.Len(t, admit(o, test.event()), 1, "the oldest event is released")
			require.Len(t, o.Deferred(), test.n)
			require.NotNil(t, o.Deferred()[uuid.MustParse(oldest.GetId())])
			require.Equal(t, before, o.DeferredBytes())

			restored := NewOrder(nil)
			var all []*Deferred
			for _, h := range o.Deferred() {
				all = append(all, &Deferred{Event: h.Event, Follows: h.Follows, Received: h.Received})
			}
			first := &Deferred{Event: test.event(), Follows: uuid.New(), Received: orderNoon.Add(-time.Minute)}
			require.Equal(t, []*orchv1.ReceivedEvent{first.Event}, restored.Restore(append(all, first), orderNoon))
			require.Equal(t, before, restored.DeferredBytes())

			require.Len(t, o.Expire(orderNoon.Add(holdFor)), test.n)
			require.Zero(t, o.DeferredBytes())
			require.Zero(t, o.arrivals.Len())
			require.Empty(t, o.followers)
		})
	}
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
	leaderID := uuid.MustParse(leader.GetId())
	second, first := following(leaderID, 2), following(leaderID, 1)
	require.Empty(t, admit(o, second))
	require.Empty(t, admit(o, first))
	held := maps.Clone(o.Deferred())
	want := []*orchv1.ReceivedEvent{leader, first, second}
	released := admit(o, leader)
	require.Equal(t, want, released)
	o.Undo(released, held)
	require.Equal(t, want, admit(o, leader))
	require.Empty(t, o.Deferred())
}
