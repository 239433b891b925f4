package leader

import "time"

// RenewOn makes the task renew its lease at these ticks while it is executed.
func (t *Task) RenewOn(ticks <-chan time.Time) { t.ticks = ticks }
