package trigger

import (
	"slices"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// child applies the firing of a child to a parent's bucket, and returns the parent's firing, nil if it does not fire.
func (n *Node) child(b *orchv1.AutomationBucket, f *orchv1.AutomationFiring) *orchv1.AutomationFiring {
	id := uuid.MustParse(f.GetId())
	if _, duplicate := applied(b, id, f.GetTriggered(), 0); duplicate {
		return nil
	}
	apply(b, id, f.GetTriggered(), 0)
	used := []*orchv1.AutomationFiring{f}
	if n.need > 1 && len(n.Children) > 1 {
		if n.collect(b, f); !n.complete(b.Waiting) {
			return nil
		}
		used, b.Waiting = b.Waiting, nil
		slices.SortStableFunc(used, func(a, c *orchv1.AutomationFiring) int { return n.position(a) - n.position(c) })
	}
	fired := n.newFiring(b, f.GetTriggered(), f.GetEvent())
	fired.Children = used
	return fired
}

// collect adds a firing to those that wait. Of each child the newest one waits, and none longer than the trigger's time.
func (n *Node) collect(b *orchv1.AutomationBucket, f *orchv1.AutomationFiring) {
	b.Waiting = slices.DeleteFunc(b.Waiting, func(old *orchv1.AutomationFiring) bool {
		return (!n.unlimited && old.GetTriggered() < f.GetTriggered()-n.Within) || old.GetTriggerId() == f.GetTriggerId()
	})
	b.Waiting = append(b.Waiting, f)
	slices.SortStableFunc(b.Waiting, func(x, y *orchv1.AutomationFiring) int {
		switch {
		case x.GetTriggered() < y.GetTriggered():
			return -1
		case x.GetTriggered() > y.GetTriggered():
			return 1
		}
		return 0
	})
}

// complete reports whether enough children have fired, for a sequence in their order.
func (n *Node) complete(waiting []*orchv1.AutomationFiring) bool {
	if len(waiting) < n.need {
		return false
	}
	if !n.sequence {
		return true
	}
	for i, f := range waiting {
		if n.position(f) != i {
			return false
		}
	}
	return true
}

// position is the place of the child that a firing is of.
func (n *Node) position(f *orchv1.AutomationFiring) int {
	return slices.IndexFunc(n.Children, func(child *Node) bool { return child.ID.String() == f.GetTriggerId() })
}
