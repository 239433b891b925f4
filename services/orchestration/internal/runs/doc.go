// Package runs has what flow runs and task runs share.
//
//	timing      the running time and the lateness of a run, which depend on the present time and are not stored
//	history     the states of a run: one row for each, identified by the state's id
//	histogram   numbers of runs by expected start time and current state
//	grid        numbers of runs by start time and duration, for a scatter chart
package runs
