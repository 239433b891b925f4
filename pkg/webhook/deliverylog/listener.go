package deliverylog

import "time"

const (
	// MaxDelay bounds how much later than others a delivery reaches the log: the last refusal of a group waits for a minute. A listener that
	// continues at a delivery reads the log from this much before it.
	MaxDelay = 2 * time.Minute
	// ListenerTimeout is the time in which a listener that lost its connection, or was killed, continues without a loss.
	ListenerTimeout = 15 * time.Minute
)
