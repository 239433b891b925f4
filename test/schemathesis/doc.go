// Package schemathesis asks the running server what its OpenAPI document allows, and what it does not, by schemathesis:
// examples, the edges of each schema, random requests, and sequences of calls that use each other's answers. No answer may
// be an error of the server, have a status, type or schema that is not described, or accept what the document forbids.
//
// What schemathesis finds and is meant is dropped in testdata/hooks.py, with the reason. `make test-schemathesis` runs it;
// EXAMPLES=100 looks longer.
package schemathesis
