// Package traffic replays the recorded traffic of an unmodified client and the reference server against this server,
// and compares the responses.
//
//	recording ──▶ calls in the order and at the pace of the recording ──▶ server ──▶ answer
//	    │              ▲ ids and times of this run                                     │
//	    └── recorded answer ───────────── compare ◀────────────────────────────────────┤
//	                                         │                                         │
//	                                    differences        identities: recorded id ◀───┘ id of this run
//
// A response agrees when it has the same status and the same JSON: keys, types, nulls, words and whole numbers. Values
// of one run are compared by form: ids by the recorded id that they stand for, times and durations by type, generated
// names by pattern. testdata/intended-differences.txt lists intended differences with reasons, testdata/unfinished.txt
// missing features.
//
// The recordings have one JSON object a line: those of package restjson in pkg/restjson/testdata/traffic, and stories of the
// reference's 3.9 in testdata/3.9. Of worker_cleanup.s2 two parts are missing: in the fourth, the reference delivered three clean-ups in an
// order that it does not promise; the seventh measures the lease by the pace of the client.
package traffic
