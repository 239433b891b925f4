// Package events defines the limits, the index and the wire form of events for all services.
//
//	hooks, orchestration ─▶ Validate ─▶ ToBroker ─┐            ┌─▶ FromBroker ─▶ Index ─▶ the store
//	                                              ├─▶ broker ──┤
//	clients ──────────────▶ Receiver ─────────────┘            └─▶ automations, websockets
//
// The broker's event has the name as its type, the resource's id as its subject, and the whole event as REST JSON in
// its data. ToBroker can encode and FromBroker can decode every event that Validate accepts, so every acknowledged
// event is readable.
package events
