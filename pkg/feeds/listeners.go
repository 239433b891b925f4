package feeds

import (
	"time"

	"github.com/orch-project/orch/pkg/broker"
)

// Listeners returns the live feed of the ids of webhooks to whose deliveries somebody listens. The nil UUID means all webhooks of the
// workspace.
func Listeners(conn *broker.Conn) *broker.LiveIDs { return conn.LiveIDs("delivery-listeners") }

// ListenerInterval is the time after which a gateway sends the id of a listener again.
const ListenerInterval = 5 * time.Second
