// Package deliveryfeed is what services agree on about the live feed of delivery logs.
//
//	orchestration: deliveries are stored ─▶ live feed: their webhook's id ─▶ gateway: pages of the dashboard
//
// The feed promises nothing: a page that misses a message shows the delivery after the next one.
package deliveryfeed

import "github.com/orch-project/orch/pkg/broker"

// name is the feed's name on the broker.
const name = "deliveries"

// Open returns the live feed of the ids of webhooks whose delivery log has grown.
func Open(conn *broker.Conn) *broker.LiveIDs { return conn.LiveIDs(name) }
