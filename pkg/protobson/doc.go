// Package protobson writes proto messages as BSON and reads them back, by descriptor: the stored form of the contract
// (rule 14). A new field is one line of proto and needs nothing here.
//
//	string, bool, int64, double   the BSON type of that name; every integer is an int64
//	string of format UUID         binary, subtype 4, 16 bytes
//	bytes of JSON formats         string: the text exactly as it is
//	other bytes                   binary, subtype 0
//	Timestamp, Duration           int64, microseconds (since 1970 UTC); what is finer is cut
//	enum                          string: the word that REST uses
//	list                          array
//	map with (rest).pairs         array of {k, v}, ordered by k: its keys may hold "." and "$"
//	other map                     document
//	message                       document, keyed by proto field name, in field order
//	inline message                the value of its one field, null where that can be unset and is; as an item of a list,
//	                              where that value is an array, a document {name: value}: arrays straight inside arrays
//	                              cannot be matched or indexed
//	tuple message                 array of its fields in number order, null for what is unset
//	union                         {member: value}
//
// What is unset is absent: an optional field without value, an empty list or map that is not optional, an enum that is
// unspecified, an empty UUID, empty JSON. Other scalars without `optional` have no unset state and are always written,
// zero included, so that a filter {enabled: false} finds them. A nullable list is an inline message: unset it is absent,
// set and empty it is []. Fields marked `computed` are neither written nor read; `internal` ones are ordinary here.
//
// Reading is strict about what it knows and lenient about what it does not: a field that the message does not have is
// skipped, as a newer version may have written it; a value of the wrong type is an error that names its path.
//
// Append writes elements without the header of a document, so that a store can put its envelope around them. The
// ...Document functions are the form of a collection: the field id is _id, and the envelope is not the message's.
package protobson
