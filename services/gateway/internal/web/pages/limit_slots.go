package pages

import (
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// slotPanels list the holders of a limit's slots and those that wait for them.
func slotPanels(r *page.Request) []panel {
	call := apicall.New[*orchv1.ConcurrencyLimitSlots](orchv1.ConcurrencyLimitV2Service_ReadConcurrencyLimitSlots_FullMethodName, limitInput(r, nil))
	_ = r.Call(call) // The panel says what it misses.
	slots := call.Result()
	holders := &table{Columns: []string{"Holder", "Slots", "Since", "Expires"}, Empty: "No slot is held."}
	for _, h := range slots.GetHolders() {
		holders.add(holderCell(r, h.GetHolder()), count(h.GetSlots()), timeCell(r, h.GetSince()), timeCell(r, h.GetExpires()))
	}
	if n := slots.GetSlotsWithoutLease(); n > 0 {
		holders.add(text("unknown: acquired by count"), count(n), text(""), text("never"))
	}
	waiters := &table{Columns: []string{"Waiter", "Slots", "Since", "Next request"}, Empty: "Nobody waits."}
	for _, w := range slots.GetWaiters() {
		waiters.add(holderCell(r, w.GetHolder()), count(w.GetSlots()), timeCell(r, w.GetSince()), timeCell(r, w.GetDue()))
	}
	return []panel{
		{Title: "Holders: " + show.Count(slots.GetHolderCount()), Table: holders, Problem: page.Problem(call.Err())},
		{Title: "Waiters: " + show.Count(slots.GetWaiterCount()), Table: waiters, Problem: page.Problem(call.Err())},
	}
}

// holderCell leads to the run or the deployment that holds slots or waits for them.
func holderCell(r *page.Request, h *orchv1.ConcurrencyLeaseHolder) cell {
	switch h.GetType() {
	case orchv1.ConcurrencyHolderType_CONCURRENCY_HOLDER_TYPE_FLOW_RUN:
		return link(r.To("runs", "flow-run", h.GetId()), "flow run "+h.GetId())
	case orchv1.ConcurrencyHolderType_CONCURRENCY_HOLDER_TYPE_TASK_RUN:
		return link(r.To("runs", "task-run", h.GetId()), "task run "+h.GetId())
	case orchv1.ConcurrencyHolderType_CONCURRENCY_HOLDER_TYPE_DEPLOYMENT:
		return link(r.To("deployments", "deployment", h.GetId()), "deployment "+h.GetId())
	default:
		return text("not stated")
	}
}
