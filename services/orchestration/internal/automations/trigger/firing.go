package trigger

import (
	"strconv"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// newFiring makes the firing of a trigger. Its id is made of all that tells it from the trigger's other firings: the key,
// the reason, the window and the time.
func (n *Node) newFiring(b *orchv1.AutomationBucket, now int64, reason *orchv1.ReceivedEvent) *orchv1.AutomationFiring {
	parts := append([]string{
		reason.GetId(), strconv.FormatInt(now, 10), strconv.FormatInt(b.GetStart(), 10), strconv.FormatInt(b.GetEnd(), 10),
	}, b.GetKey()...)
	return &orchv1.AutomationFiring{
		Id:        derived(n.ID, "firing", parts...).String(),
		TriggerId: n.ID.String(),
		State:     orchv1.TriggerState_TRIGGER_STATE_TRIGGERED,
		Triggered: now,
		Event:     reason,
		Key:       b.GetKey(),
	}
}

// FiringFor returns a firing of the trigger for an event, also if its threshold is not reached. The event may be nil.
func (n *Node) FiringFor(e *orchv1.ReceivedEvent, at time.Time) *orchv1.AutomationFiring {
	key := n.key(e)
	f := n.newFiring(&orchv1.AutomationBucket{Key: key}, at.UnixMicro(), e)
	f.Labels = n.labels(key)
	return f
}
