// Package deliveryfeed is what services agree on about the live feed of delivery logs.
//
//	orchestration: deliveries are stored ─▶ live feed: their webhook's id ─▶ gateway: pages of the dashboard
//
// The feed promises nothing: a page that misses a message shows the delivery after the next one.
package deliveryfeed

// Feed is the name of the live feed of webhooks whose delivery log has grown. A message is a webhook's UUID, 16 bytes.
const Feed = "deliveries"
