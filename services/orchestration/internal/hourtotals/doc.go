// Package hourtotals counts the runs and events of each past hour once, so a count of years reads one small document per hour.
//
// The document of an hour has a row for each state (or name of an event). Rows are trusted without a look at the documents they count,
// so one invariant carries the package: an hour with rows has no writer.
//
//	                    counter: 20 min after the hour,
//	                    10 s after open_until
//	┌─────────────┐  ─────────────────────────────────►  ┌──────────────────┐
//	│ open        │                                      │ counted          │
//	│ no rows     │  ◄─────────────────────────────────  │ rows, or wide    │
//	└─────────────┘  writer: removes the rows, and sets  └──────────────────┘
//	       ▲ │       open_until to 120 s from now
//	       └─┘
//	 writer: raises open_until
//
// A writer opens an hour before it changes a document of it, and waits for a majority. It remembers that for 30 s, so its last write
// that relies on the opening begins 90 s before open_until. A write ends, or is refused, within seconds. Hours that ended less than
// 10 minutes ago need no opening, because nobody counts them: most writes belong to them.
//
// A counter reads open_until, groups the documents, and stores the rows only if open_until is the one that it read. So rows
// include every write before the end of the last opening, and a later writer removes them first.
//
// All times of this protocol are those of the database's primary (Clock). Processes may be wrong by half a minute.
//
// A reader adds the rows of the counted hours and counts all other parts of its window, its edges included, by the indexes of the
// documents. A crash at any point leaves an hour open, or rows that are right. Without any hour document all counts are the same,
// and slower.
package hourtotals
