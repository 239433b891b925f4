// Package schedules is the scheduler: it creates the runs that the schedules of deployments call for, ahead of time.
//
// A deployment stores when the scheduler has to examine it next. A pass reads the due deployments and computes the
// times of their runs. It writes them as an effect into the deployment's own outbox, together with the time of the next
// examination. The relay then inserts the runs:
//
//	change of a deployment ──► due now          ┌───────────────── next examination ◄─┐
//	                             │              ▼                                     │
//	                             └────────► pass (one replica) ──compare-and-set──► deployment
//	                                                                                  │ outbox
//	                                             runs ◄── insert, by unique key ◄── relay
//
// The order of a deployment's outbox is what keeps runs and changes consistent: a change deletes what was scheduled
// before it and nobody started, and runs of an older generation that are still to be inserted are dropped. A run has a
// unique idempotency key and an id that follows from its effect. So replicas, repetitions and steps of the clock create
// it once.
package schedules
