// Package rpc connects the services: gRPC between processes, direct calls within one.
//
//	           ┌───────────── Remote ──── gRPC over TCP ────── Server ─┐
//	Caller ────┤                                                       ├──── the service's implementation
//	           └───────────── Local ───── the messages themselves ─────┘
//
// A Caller invokes a method by its full name with any message; the gateway derives its routes from descriptors. Within
// one process messages are passed without marshalling, which would cost more than the JSON. Interceptors, metadata and
// errors are the same for both. Both are JSONCallers: the
// handlers of frequent lists append JSON from stored documents, and the caller passes it on. Replicas of an earlier version, which do not
// know JSON handlers, receive and send messages.
//
// A handler sets an HTTP status or header with [SetStatus] and [SetHeader]. [Error] returns an error with its own HTTP
// response (rule 12 of the contract).
package rpc
