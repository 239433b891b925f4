// Package health decides from counts of requests whether a webhook works.
//
//	           accepted request                  failures ≥ Failures, and ≥ Share of the window's requests
//	unknown ────────────────────► healthy ◄──────────────────────────────────────────────────────► failing
//	   │                            │  ▲      a window with requests ends below these thresholds      ▲
//	   │ no request for max_silence │  │ accepted request                                             │
//	   └────────────────────────────┴──► silent ──────────────────────────────────────────────────────┘
//
// Windows have a fixed length and are aligned to the Unix epoch, so every replica counts in the same ones. A webhook fails
// as soon as a window exceeds the thresholds, and recovers at the end of a window. So each changes at most once per window.
//
// The package has no store and no clock. Its caller stores the state by compare-and-set, with the events of the transitions as
// effects of the same write: an event happens once, whichever replica causes it.
package health
