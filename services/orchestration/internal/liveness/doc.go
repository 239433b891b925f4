// Package liveness ends flow runs that no process executes any more, and those that do not start.
//
// The client that executes a run sends heartbeats: events named flow-run.heartbeat, which are stored like all events. The [Monitor] looks
// for them in the store, so a heartbeat costs no further write, and a run that sends none is never judged.
//
//	           heartbeat found, or a state written
//	     ┌──────────────────────────────────────────────┐
//	     ▼                                              │
//	  watched ── missed − 1½ intervals of silence ─▶ suspected ── 1½ more, no event about the run ───▶ lost
//	     │ ▲                                            │                                                 │
//	     │ └──── the judge did not hear for a while ────┘                         the state is still the same one
//	     ▼                                                                                                │
//	not watched: the run left RUNNING                                     ┌───────────────────────────────┤
//	                                                                      ▼                               ▼
//	                                                                   CRASHED                 SCHEDULED (AwaitingRetry)
//	                                                       task runs and subflows crash, the slot is free,
//	                                                       infrastructure is removed where a worker does that
//
// A pending run is lost when it stays in one state for the pending timeout, without suspicion, because it sends nothing.
//
// Silence is measured by the monotonic clock of the process that judges. Times of events only say where a heartbeat lies between two
// checks, and within a bound that no wrong clock exceeds: half of the silence that would be left. The judge hears only while its
// passes take place. After a start, an outage or a gap between passes, silence counts anew, because clients may not have been able to send
// anything. A pass judges only when every event is stored that the broker acknowledged before it, and not at once after a lag.
//
// The client's clock orders the heartbeats of a run. After a step back of that clock they show nothing until it has caught up. So two checks
// in each interval count the events about a suspected run, and silence counts anew with each new one.
//
// A run that was lost and reports after all: its process may still end it, or let it go on, while nothing else has started it. The
// result of the process then replaces CRASHED. A rescheduled run enters RUNNING only by a worker's claim, and the first attempt that
// starts after it wins; the rule PreventStartsOfLostAttempts aborts every other one. Heartbeats themselves change no state.
package liveness
