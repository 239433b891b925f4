// Package stream serves the API's websockets.
//
//	/events/in                         client's events ──▶ ingestion ──▶ broker    a pong means: stored
//	/events/out                        broker ──▶ feed ──▶ subscriber ──▶ client     the store's past first, if asked
//	/logs/out                          live feed of logs ──▶ feed ──▶ subscriber ──▶ client
//	/deliveries/out                    grown delivery log ──▶ listener ──▶ store ──▶ client     from a time on
//	/live, of the dashboard           every feed ──▶ invalidations ──▶ page            no data: the page asks again
//	/task_runs/subscriptions/scheduled queue in the store ──▶ one run at a time ──▶ task worker
//
// # The life of a websocket
//
//	upgrade ──▶ {"type":"auth"} ──▶ {"type":"auth_success"} ──▶ the socket's own messages ──▶ close
//	   │              │ 1008                                          │ 1002, 1003, 1007, 1008, 1009, 4001
//	   └── without subprotocol: no handshake, the header must authenticate
//
// Each close by the server carries a close code: 1012 on shutdown, and 1013 for a temporary condition such as an
// unavailable broker or a slow subscriber. After either the client may reconnect at once.
//
// # One consumer per process
//
// A feed runs while it has subscribers. It reads, decodes and encodes each message once, and enqueues it for the
// subscribers whose workspace and filter match. It never waits for a subscriber: one that exceeds its queue bounds is
// closed.
package stream
