package deliveries

import "time"

// budgetWindow is the time for which a webhook has a budget of rows.
const budgetWindow = time.Minute

// budgets bound the rows that each webhook has of its own requests in a window. The lock of the recorder guards them. Their number is
// bounded by the number of webhooks.
type budgets struct {
	rows, bytes int
	used        map[string]*usage // By the webhook's id.
}

// usage is the part of a webhook's budget that is used since a time.
type usage struct {
	since       time.Time
	rows, bytes int
}

func newBudgets(rows, bytes int) budgets {
	return budgets{rows: rows, bytes: bytes, used: map[string]*usage{}}
}

// admit takes the row of a request from the budget of its webhook and reports whether the budget holds it.
func (b *budgets) admit(n *LogEntry, now time.Time) bool {
	used := b.used[n.Hook.GetId()]
	if used == nil {
		used = &usage{since: now}
		b.used[n.Hook.GetId()] = used
	}
	if used.rows >= b.rows || used.bytes+n.size() > b.bytes {
		return false
	}
	used.rows++
	used.bytes += n.size()
	return true
}

// expire ends the windows that are over, all windows when the process ends.
func (b *budgets) expire(now time.Time, all bool) {
	for hook, used := range b.used {
		if all || now.Sub(used.since) >= budgetWindow {
			delete(b.used, hook)
		}
	}
}
