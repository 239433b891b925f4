// Package beside measures two servers with the same load, in turns, and holds the ratio to floors.
//
//	start both ──► seed both ──► row 1: A B A B ──► row 2: A B A B ──► … ──► table, floors ──► stop both
//
// One of the two is the Python server that the API is known from, on a Postgres of its own in a throw-away directory; the
// other is ours. They share a machine with the generator and with whatever else runs there, so a figure alone says little:
// the ratio does, and it is taken from short rounds that alternate, so that noise hits both. Before each round the other
// server has come to rest, and its leftovers are not counted against this one.
//
// A program that has other rows to measure makes a list of Row and calls Compare.
package beside
