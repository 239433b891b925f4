package feeds

import "github.com/orch-project/orch/pkg/broker"

// Deliveries returns the live feed of the ids of webhooks whose delivery log has grown.
func Deliveries(conn *broker.Conn) *broker.LiveIDs { return conn.LiveIDs("deliveries") }
