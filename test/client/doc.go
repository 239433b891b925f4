// Package client is a Go client of the REST API, generated from the OpenAPI document: what a stranger gets who has
// nothing but the document. [Script] does with it what the README shows.
//
// After a change of the document (`go test ./pkg/openapi -update`): `make client`.
package client
