// Package openapi describes the REST API as an OpenAPI 3.0.3 document, from the descriptors that the API itself is
// served from: what is published cannot differ from what is decoded and encoded.
//
//	service ── rpc ──▶ operation ──┬─▶ parameters  path, query, header, the API version
//	                               ├─▶ request body  the field that google.api.http names
//	                               └─▶ responses  (api).status, its alternatives, 422, anything else
//	message ─────────▶ schema ─────┬─▶ object     a component, referred to by name
//	                               ├─▶ union      a component: oneOf with a discriminator, else anyOf
//	                               ├─▶ inline     the schema of its one field, in place
//	                               └─▶ tuple      an array of fixed length
//	comment ─────────▶ summary, description
//
// The mapping is the one of package restjson, written as schemas; its rules are those of docs/contract.md. A message
// that holds a duration is written in two ways, ISO 8601 in requests and seconds in responses, and is published as
// Name-Input and Name-Output if both are used.
//
// The same descriptors give the same bytes.
package openapi
