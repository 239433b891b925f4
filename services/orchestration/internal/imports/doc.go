// Package imports stores resources of another server as they are: with their ids, times and histories, without effects.
//
//	resource ──► exists? ──► rules, derived fields ──► collection
//	                              │
//	                              └──► refused, with the reason
//
// A repeated import leaves existing documents unchanged, so an interrupted one is continued by the next.
package imports
