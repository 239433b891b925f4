// Package names keeps the distinct names of runs in a dictionary, so that a search for a part of a name reads the names and not the runs.
//
//	create ──► term {ws, kind, name, grams} ──► run          a new name precedes the run that has it
//	search ──► terms of the rarest trigram ──► names ──► runs with one of these names
//
// The grams of a name are its trigrams, in an ordinary index with several keys for each document. Names that programs generate repeat, so
// there are few for many runs. A workspace with more than maxTerms of a kind gets no further terms, and a mark; its searches
// read the names of runs. So do searches for less than three bytes, and those that very many names match.
package names
