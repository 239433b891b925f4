// Package stream serves the API's websockets.
//
//	/events/in                         events of clients ──▶ intake ──▶ broker       a pong means: stored
//	/events/out                        broker ──▶ feed ──▶ subscriber ──▶ client     the store's past first, if asked
//	/logs/out                          live feed of logs ──▶ feed ──▶ subscriber ──▶ client
//	/task_runs/subscriptions/scheduled queue in the store ──▶ one run at a time ──▶ task worker
//
// # The life of a socket
//
//	upgrade ──▶ {"type":"auth"} ──▶ {"type":"auth_success"} ──▶ the socket's own messages ──▶ close
//	   │              │ 1008                                          │ 1002, 1003, 1007, 1008, 1009, 4001
//	   └── without subprotocol: no handshake, the header must authenticate
//
// Whatever ends a socket on the server's side says so by a close code: 1012 when the server shuts down and 1013 when it
// cannot go on at present (the broker is away, the subscriber too slow); a client of either may connect again at once.
//
// # One consumer a process
//
// A feed runs while it has subscribers. It reads what passes once for all of them, decodes and encodes it once, and
// puts it into the queues of those whose workspace and filter it meets. It never waits for a subscriber: one that is
// 256 events behind is closed.
package stream
