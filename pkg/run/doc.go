// Package run runs the long-living parts of a service: named workers, started in order, watched, and stopped in reverse.
//
//	         all workers ready                ctx ends,
//	new ──> starting ──────────> running ──────────────────> draining ──> stopping ──> stopped
//	           │                    │      a worker ended        ^
//	           └────────────────────┴───────────────────────────┘
//
//	starting  workers start one after the other; one that implements Readier holds the next until it is ready
//	running   ready, as far as the registered checks are
//	draining  not ready, but everything still works: load balancers get Options.DrainDelay to notice
//	stopping  the last worker's context ends; when it has returned, the one before it; and so on.
//	          What a worker has in flight it finishes under Grace(ctx), which ends with Options.StopTimeout
//	stopped   Group.Run has returned
//
// A worker that ends while it should run ends the group, even when it returns nil. A worker deals with the failures it
// can foresee itself (it reconnects, it tries again); what remains is a defect or a lost prerequisite, and a process
// that is alive in part is worse than one that its supervisor restarts: it answers some requests, holds leases that it
// does not serve, and nobody notices. A panic is not caught, for the same reason.
package run
