// Package embeddednats runs a nats-server with JetStream inside this process.
//
//	Start ──> lock the directory ──> recover streams ──> ready
//	                                                      │
//	                       in-process connections (net.Pipe), TCP when Listen is set
//	                                                      │
//	Close ──> refuse new clients ──> flush stores ──> unlock
//
// Two settings are what the package is for. JetStream's default acknowledges a message up to two minutes before it is
// flushed to the disk; here every message is flushed before its acknowledgement (sync_interval: always). And payloads
// may be 8 MiB, because a frame of events must fit.
//
// The server responds to $SYS.REQ.SERVER.PING.JSZ from ordinary clients. So pkg/broker verifies the first setting over
// the wire, for this server and for a deployed one alike.
//
// The server installs no signal handler and opens no port by itself: neither for clients (unless Listen is set)
// nor for monitoring, routes or profiling.
package embeddednats
