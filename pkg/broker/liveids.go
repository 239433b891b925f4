package broker

import (
	"context"

	"github.com/google/uuid"
)

// LiveIDs is a live feed of ids, 16 bytes each. Conn.LiveIDs returns one. It is safe for concurrent use.
type LiveIDs struct{ live *Live }

// LiveIDs returns the live feed of ids with a name; see Live.
func (c *Conn) LiveIDs(feed string) *LiveIDs { return &LiveIDs{c.Live(feed)} }

// Publish is Live.Publish for an id.
func (l *LiveIDs) Publish(workspace, id uuid.UUID) error { return l.live.Publish(workspace, id[:]) }

// Subscribe is Live.Subscribe for ids. It drops other messages.
func (l *LiveIDs) Subscribe(ctx context.Context, handle func(workspace, id uuid.UUID), opts ...SubscribeOption) error {
	return l.live.Subscribe(ctx, func(workspace uuid.UUID, data []byte) {
		if id, err := uuid.FromBytes(data); err == nil {
			handle(workspace, id)
		}
	}, opts...)
}
