// Package traffic replays what an unmodified client and the reference server said to each other against this server, and
// compares the answers.
//
//	recording ──▶ calls in the order and at the pace of the recording ──▶ server ──▶ answer
//	    │              ▲ ids and times of this run                                     │
//	    └── recorded answer ───────────── compare ◀────────────────────────────────────┤
//	                                         │                                         │
//	                                    differences        identities: recorded id ◀───┘ id of this run
//
// An answer agrees when it has the same status and the same JSON: keys, types, nulls, words and whole numbers. What
// belongs to one run alone is compared by its form: ids by which recorded id they stand for, times and durations by their
// type, names that the server makes up by their pattern. What differs on purpose is listed with its reason in
// testdata/intended-differences.txt, what is not there yet in testdata/unfinished.txt.
//
// The recordings are those of package restjson: pkg/restjson/testdata/traffic, one JSON object a line.
package traffic
