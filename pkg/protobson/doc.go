// Package protobson writes proto messages as BSON and reads them back, by descriptor: the stored form of the contract (rule 14
// of docs/contract.md). A new field is one line of proto and needs no change here.
//
//	string, bool, int64, double   the BSON type of that name; every integer is an int64
//	string of format UUID         binary, subtype 4, 16 bytes
//	bytes of JSON formats         string: the text as it is
//	other bytes                   binary, subtype 0
//	Timestamp, Duration           int64, microseconds (since 1970 UTC); digits beyond are dropped
//	enum                          string: the name that REST uses
//	list                          array
//	map with (rest).pairs         array of {k, v}, ordered by k: its keys may contain "." and "$"
//	other map                     document
//	message                       document, keyed by proto field name, in field order
//	inline message                the value of its only field, or null if that is optional and unset; an array inside an
//	                              array is {name: value}, because filters and indexes cannot reach nested arrays
//	tuple message                 array of its fields in number order, null for an unset field
//	union                         {member: value}
//
// Unset fields are absent: an optional field without a value, an empty list or map, an unspecified enum, an empty UUID, empty
// JSON. Other scalars without `optional` have no unset state. They are always written, zero included, so a filter {enabled:
// false} matches them. A nullable list is an inline message: unset it is absent, set and empty it is []. `computed` fields are
// neither written nor read; `internal` fields are written like others.
//
// Reading skips unknown fields, because a newer version may have written them. A value of the wrong type is an error with its
// path.
//
// Append writes elements without the header of a document, so a store can add its envelope. The functions ending in Document
// use the form of a collection: the field id is _id, and the envelope is not part of the message.
//
//	message ──▶ Append ──▶ elements of BSON
//	BSON ──▶ wire.go: rewrite as protobuf, decode that ──▶ message
//	            └── unusual or wrong data ──▶ decode.go: reflection ──▶ message, or *Error with its path
package protobson
