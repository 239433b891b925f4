// Package backfills creates the flow runs of a range of the past of a schedule.
//
// A backfill keeps the schedule as it was, and the times of its unfinished runs, at most as many as it may have. A pass examines each
// open backfill:
//
//	store runs ──► read unfinished runs ──► write: ended runs counted, further times added ──► again, while there are any
//	     │                                            │ compare-and-set
//	     └── idempotent: the id of a run follows      └── a time is written before its run is stored, so a crash
//	         from the backfill and the time               loses none, and no run is unknown to its backfill
//
// Requests only change the state of a backfill. So what a request and a pass do at the same time is decided by the document: a paused or
// cancelled backfill adds no times, and the runs of a cancelled one are cancelled until all have ended.
package backfills
