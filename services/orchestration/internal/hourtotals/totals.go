package hourtotals

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// CollectionName is the collection of the hour documents. It needs no index but that of the ids.
const CollectionName = "hour_total"

// The fields of an hour document.
const (
	fieldRows      = "rows"
	fieldWide      = "wide"
	fieldOpenUntil = "open_until"
	fieldCounted   = "counted"
	fieldExpires   = "expires"
)

// TrustAfter is the time between the change of a database's format and the first count: until then servers of the earlier version
// may write without opening hours.
const TrustAfter = 24 * time.Hour

// Counter counts the documents that match a scoped filter, exactly.
type Counter interface {
	Count(ctx context.Context, collection query.Collection, filter bson.D) (int64, error)
}

// Totals counts documents with the help of hour documents. It is safe for concurrent use.
type Totals struct {
	Writer

	db   *mongo.Database
	live Counter
	// trusted is the time from which hours are counted, in microseconds; 0 means never.
	trusted atomic.Int64
}

// New returns the totals of a database. They count documents, and no hours, until Trust.
func New(db *mongo.Database, clock Clock, live Counter) *Totals {
	return &Totals{
		Writer: Writer{hours: db.Collection(CollectionName), clock: clock, opened: map[opening]time.Time{}},
		db:     db, live: live,
	}
}

// Trust counts hours from a time on. Before it, other servers may write without opening hours.
func (t *Totals) Trust(from time.Time) { t.trusted.Store(max(1, from.UnixMicro())) }

// trusts reports whether all servers open hours at a moment.
func (t *Totals) trusts(now time.Time) bool {
	from := t.trusted.Load()
	return from != 0 && now.UnixMicro() >= from
}

// Clear removes the hours of a workspace whose documents were removed.
func (t *Totals) Clear(ctx context.Context, ws uuid.UUID) error {
	for _, k := range kinds {
		if _, err := t.hours.DeleteMany(ctx, bson.D{{Key: "_id", Value: idRange(ws, k, firstHour, lastHour)}}); err != nil {
			return fmt.Errorf("delete hours of %ss: %w", k.Collection, err)
		}
	}
	return nil
}

// The hours of all times in microseconds.
var firstHour, lastHour = HourOf(always.From), HourOf(always.Until)

// idRange is the condition on the id for the hours [first, until) of a workspace.
func idRange(ws uuid.UUID, k *Kind, first, until Hour) bson.D {
	return bson.D{{Key: "$gte", Value: idOf(ws, k, first)}, {Key: "$lt", Value: idOf(ws, k, until)}}
}
