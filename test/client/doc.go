// Package client is a Go client of the REST API, generated from the document of the core: what a stranger gets who has
// nothing but the document. [Script] does with it what the README shows.
package client

//go:generate env GOWORK=off go -C ../../tools/oapi tool oapi-codegen -config client.yaml ../../pkg/openapi/testdata/core.json
