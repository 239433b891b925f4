// Package store keeps the domain's documents in MongoDB, or in the embedded server that speaks its protocol: the
// code is the same.
//
// One aggregate is one document: a message of the contract (package protobson) inside an envelope that the message
// does not know.
//
//	_id    the id, a UUID
//	ws     the workspace, first in every index and in every query
//	rev    the revision: each write raises it by one
//	outbox what the last writes cause elsewhere, in order, until it is done
//	…      the fields of the message
//
// Every change is a compare-and-set: read, decide, write where the revision is still the one that was read. A lost
// race reads again and decides again, so a decision is never made on anything that is not a longer true. What the change causes
// (an event, a row of history, an entry of the webhook definition bucket) is pushed into the same document by the same write;
// package outbox carries it out. No multi-document transaction is needed for correctness.
//
//	          Mutate                              relay
//	read ──► decide ──► {_id, ws, rev} matches? ──► outbox ──► effects done ──► pulled
//	 ▲                      │ no
//	 └──────────────────────┘
//
// Deleting is a compare-and-set too. It moves the document out of its workspace (ws becomes the document's own id):
// every query stops seeing it at once and its unique keys are free; the relay executes its last effects and then
// removes it.
package store
