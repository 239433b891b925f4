// Package rpc is how the services call each other: gRPC between processes, plain calls inside one.
//
//	           ┌───────────── Remote ──── gRPC over TCP ────── Server ─┐
//	Caller ────┤                                                       ├──── the service's implementation
//	           └───────────── Local ───── the messages themselves ─────┘
//
// A Caller invokes a method by its full name, with any message; the gateway needs no more, since it learns its
// routes from descriptors. In one process messages pass as they are, not as bytes: marshalling them would cost more
// than the JSON does. The interceptors, the metadata and the errors are the same on both ways.
//
// A handler that wants to say more than its message sets a status or a header with [SetStatus] and [SetHeader];
// an error that has an HTTP form of its own is made by [Error] (rule 12 of the contract).
package rpc
