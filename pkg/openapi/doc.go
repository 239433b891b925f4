// Package openapi generates the OpenAPI 3.0.3 document of the REST API. It uses the server's own descriptors, so the
// published schemas cannot differ from the decoder and the encoder.
//
//	service ── rpc ──▶ operation ──┬─▶ parameters  path, query, header, the API version
//	                               ├─▶ request body  the field that google.api.http names, with its example
//	                               └─▶ responses  (api).status, its alternatives, 422, other errors
//	message ─────────▶ schema ─────┬─▶ object     a component, referred to by name
//	                               ├─▶ union      a component: oneOf with a discriminator, else anyOf
//	                               ├─▶ inline     the schema of its one field, in place
//	                               └─▶ tuple      an array of fixed length
//	comment ─────────▶ rpc: summary (first sentence), description (the rest); field, message: description
//	examples/<operation id>.json ▶ example request body, in the server's vocabulary
//
// The mapping expresses package restjson as schemas; docs/contract.md lists its rules. Durations are ISO 8601 in requests
// and seconds in responses, so a message that contains one is published as Name-Input and Name-Output if both occur.
//
// Output is deterministic: the same descriptors give the same bytes.
package openapi
