// Package restjson maps proto messages to the REST API's JSON and back.
//
// The mapping is read from descriptors: what proto cannot say by itself (a key that must be present, a default, a
// union chosen by a tag, a field that is stored but never shown) is said by the options of orch/v1/rest.proto. The
// rules are those of docs/contract.md.
//
//	descriptor ──▶ plan (built once, cached) ──┬──▶ encoder ──▶ bytes
//	                                           └──▶ decoder ──▶ message, or *Errors
//
//	bytes ──▶ jsontoken ──▶ shape of the message ──▶ fields ──▶ scalars ──▶ bounds
//	                       │ object   {"name": …}
//	                       │ inline   the one field is the JSON
//	                       │ tuple    […] in the order of field numbers
//	                       │ tagged   {"type": "…"} chooses the variant
//	                       └ typed    a key, or the JSON type, chooses the variant
//
// Decoding is one pass over the bytes; only a union looks ahead. Every fault of a body is collected with the exact
// way to its place, up to [MaxFaults]; a fault of syntax ends the list. Numbers stay as they were written in free
// JSON, and never pass through a float on the way to an integer.
//
// Encoders of the messages that are answered most are generated (package comment of cmd/restjsongen); they write the
// same bytes as the reflective one.
//
// Nothing here knows a resource by name: a new field or message needs no change.
package restjson
