// Package schemathesis tests a running server with schemathesis. It sends requests that the OpenAPI document allows and
// others that it forbids: examples, boundary values, random requests, and sequences of dependent calls. No response may
// be a server error, have an undocumented status, type or schema, or accept what the document forbids.
//
// testdata/hooks.py drops intended findings, with the reason. `make test-schemathesis` runs it; EXAMPLES=100 searches
// longer.
package schemathesis
