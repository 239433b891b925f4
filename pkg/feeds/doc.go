// Package feeds names the live feeds by which services wake each other, and the times that both sides agree on. Orchestration sends to
// gateways, except for Listeners, by which gateways send to hooks.
//
//	feed          a message is                      the sender sends it when                 and the receiver then
//	Deliveries    the id of a webhook               deliveries of it were stored             refreshes pages of the dashboard
//	TaskRuns      a task key                        a deferred task run waits                claims it for a task worker
//	WorkPools     the id of a work pool             the pool was changed                     sends a snapshot to its workers
//	WaitingRuns   the name of a work pool           a run waits for a worker                 sends due runs to its workers
//	Cleanups      the id of a work pool             a clean-up job may be reserved           reserves it, and sends it to a worker
//	Listeners     the id of a webhook               a client listens to its deliveries       answers requests after they are logged
//
// A feed promises nothing. The store has the queues, and who missed a message finds the change at the next poll or heartbeat.
package feeds
