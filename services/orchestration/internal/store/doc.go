// Package store stores the domain's documents in MongoDB, or in the embedded server that speaks its protocol. The code
// is the same for both.
//
// One aggregate is one document: a message of the contract (package protobson) inside an envelope that the message does
// not contain.
//
//	_id    the id, a UUID
//	ws     the workspace, first in every index and in every query
//	rev    the revision: each write raises it by one
//	tok    the token: a random number of the write, absent in documents of earlier versions of this program
//	outbox what the last writes cause elsewhere, in order, until it is done
//	…      the fields of the message
//
// Every change is a compare-and-set: read, decide, write if revision and token are unchanged. After a lost race it reads and
// decides again, so no decision is based on outdated data. The same write stores the effects of the change in the
// document: an event, a row of history, an entry of the webhook definition bucket. Package outbox executes them.
// Correctness needs no multi-document transaction.
//
//	          Mutate                              relay
//	read ──► decide ──► {_id, ws, rev, tok} matches? ──► outbox ──► effects done ──► pulled
//	 ▲                      │ no
//	 └──────────────────────┘
//
// Deleting is a compare-and-set too. It moves the document out of its workspace: ws becomes the document's own id. No
// query finds it any more, and its unique keys are free. The relay executes its last effects and then removes it.
package store
