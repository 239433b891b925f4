// Package beside measures two servers with the same load, in turns, and compares the ratio with floors.
//
//	start both ──► seed both ──► row 1: A B A B ──► row 2: A B A B ──► … ──► table, floors ──► stop both
//
// One of the two is the reference, a Python server on its own Postgres in a temporary directory; the other is Orch.
// They share a machine with the generator and with other processes, so an absolute figure means little. The ratio is
// taken from short alternating rounds, so noise affects both. Each round starts when the other server is idle, so one
// server's background work does not count against the other.
//
// A program with other rows builds a list of Row and calls Compare.
package beside
