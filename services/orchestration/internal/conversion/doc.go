// Package conversion rewrites the server's own names from one vocabulary to the other: in a database, and in the streams and
// buckets of its broker. No server runs on them meanwhile.
//
//	survey ──► convert ──► finish          meta: the phase; the mark of the vocabulary changes last
//	  │           │           └─ flip the mark, remove the exceptions that were used
//	  │           └─ documents, outboxes, dead letters, streams, bucket of definitions
//	  └─ reads everything: the report of a dry run, and the exceptions
//
// Converting a document twice changes nothing, so an interrupted phase is repeated from its beginning. Two kinds of documents
// need more: an exception records them before the first document changes.
//   - A document may have names that are spelled in the target's vocabulary already, from clients that expect it. They stay, and the
//     way back must not touch them. If the document has a name in both vocabularies, the two change places.
//   - A bucket of a trigger with for_each lists values in the order of the labels' names, and has an id made of them.
package conversion
