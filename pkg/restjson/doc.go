// Package restjson maps proto messages to the JSON of the REST API and back.
//
// Descriptors define the mapping. The options of orch/v1/rest.proto add what proto lacks: required keys, defaults, unions
// chosen by a tag, fields that are stored but never shown. docs/contract.md has the rules.
//
//	descriptor ──▶ plan (built once, cached) ──┬──▶ encoder ──▶ bytes
//	                                           └──▶ decoder ──▶ message, or *Errors
//
//	bytes ──▶ jsontoken ──▶ shape of the message ──▶ fields ──▶ scalars ──▶ bounds
//	                       │ object   {"name": …}
//	                       │ inline   the value of the only field
//	                       │ tuple    […] in the order of field numbers
//	                       │ tagged   {"type": "…"} chooses the variant
//	                       └ typed    a key, or the JSON type, chooses the variant
//
// Decoding reads the bytes once; only a union looks ahead. It collects every field error of a body with its exact location, up
// to [MaxErrors]; a syntax error ends the list. Numbers in free JSON keep their literal, and integers never pass through a
// float.
//
// Messages on hot paths have generated encoders and decoders (see cmd/restjsongen):
//
//	encode: generated encoder if there is one, else reflection; both write the same bytes
//	decode: generated decoder if there is one (fast_decoder.go); it accepts well-formed input only
//	        and falls back to reflection, which also reports what is wrong
//
// No code here names a resource: a new field or message needs no change.
package restjson
