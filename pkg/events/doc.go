// Package events is what all services agree on about an event: its limits, its index, and how the broker carries it.
//
//	hooks, orchestration ─▶ Validate ─▶ ToBroker ─┐            ┌─▶ FromBroker ─▶ Index ─▶ the store
//	                                              ├─▶ broker ──┤
//	clients ──────────────▶ Receiver ─────────────┘            └─▶ automations, websockets
//
// The broker's event has the name as its type, the resource's id as its subject, and the whole event as REST JSON in its
// data. What Validate accepts, ToBroker can write and FromBroker can read: an event that was acknowledged is never found
// unreadable afterwards.
package events
