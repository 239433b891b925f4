// Package run supervises the long-running parts of a service: named workers, started in order and stopped in reverse.
//
//	         all workers ready                ctx ends,
//	new ──> starting ──────────> running ──────────────────> draining ──> stopping ──> stopped
//	           │                    │      a worker ended        ^
//	           └────────────────────┴───────────────────────────┘
//
//	starting  workers start one after the other; one that implements Readier holds the next until it is ready.
//	          A step holds the next until it returns; it may add the workers that need what it opened
//	running   ready, as far as the registered checks are
//	draining  not ready, but everything still works: load balancers get Options.DrainDelay to notice
//	stopping  the last worker's context ends; when it has returned, the one before it; and so on.
//	          What a worker has in flight it finishes under Grace(ctx), which ends with Options.StopTimeout
//	stopped   Group.Run has returned
//
// A worker that returns while it should run ends the group, even if it returns nil. Workers handle foreseeable failures
// themselves, by reconnecting and retrying. Any other failure is a bug or a lost prerequisite, and a supervisor's
// restart is better than a process that works in part. Panics are not recovered, for the same reason.
package run
