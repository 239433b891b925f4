package destinations

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/action"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// The bounds of the deliveries of a destination that wait, in number and in bytes.
const (
	maxQueued      = 1_000_000
	maxQueuedBytes = 1 << 30
)

const (
	// measureAgain is how often a queue without room is measured again.
	measureAgain = 10 * time.Second
	// reportAgain is how often refused deliveries of a destination are reported.
	reportAgain = time.Minute
)

// usage is the number and size of deliveries.
type usage struct{ count, bytes int64 }

// queued are deliveries that enqueue did not store: the number of those without room, the positions of those that were stored before, and
// those that the database refused.
type queued struct {
	refused int
	before  []int
	bad     []store.Refusal
}

// error is why not all deliveries are stored; nil if they are.
func (q queued) error() error {
	switch {
	case len(q.bad) > 0:
		return fmt.Errorf("store a delivery: %w", q.bad[0].Err)
	case q.refused > 0:
		return action.ErrQueueFull
	}
	return nil
}

// noEffects are those of an enqueuing that reports nothing.
func noEffects(*orchv1.Destination, int) ([]store.Effect, error) { return nil, nil }

// enqueue stores the first deliveries, as many as the queue of their destination has room for, and makes the destination due. Their
// positions follow that of its last one, and the time unless the clock stepped back. note returns the effects of the change.
func (s *Service) enqueue(ctx context.Context, ws, id uuid.UUID, deliveries []*orchv1.DestinationDelivery,
	note func(next *orchv1.Destination, refused int) ([]store.Effect, error),
) (queued, error) {
	d, err := s.destinations.Get(ctx, ws, id)
	if err != nil {
		return queued{}, err
	}
	admitted, used, err := s.admit(ctx, ws, id, d.GetUsage(), deliveries)
	if err != nil {
		return queued{}, err
	}
	now, sequence := s.Store.Now(), d.GetSequence()
	for _, one := range admitted {
		sequence = max(sequence+1, now.UnixMicro())
		one.DestinationId, one.Sequence = id.String(), sequence
		one.Queued, one.NextAttempt = timestamppb.New(now), timestamppb.New(now)
		one.State = orchv1.DestinationDeliveryState_DESTINATION_DELIVERY_STATE_PENDING
	}
	result := queued{refused: len(deliveries) - len(admitted)}
	if result.before, result.bad, err = store.InsertApart(ctx, s.deliveries, ws, admitted); err != nil {
		return queued{}, err
	}
	_, err = s.edit(ctx, ws, id, func(next *orchv1.Destination) ([]store.Effect, error) {
		if len(admitted) > 0 {
			next.Sequence = max(next.GetSequence(), sequence-1)
			s.setDue(next)
		}
		next.Usage = withAdmitted(next.GetUsage(), used, admitted)
		return note(next, result.refused)
	})
	s.wake()
	return result, err
}

// admit returns the first deliveries, as many as a queue with a usage has room for, and the usage with them.
func (s *Service) admit(ctx context.Context, ws, id uuid.UUID, stored *orchv1.DestinationUsage, deliveries []*orchv1.DestinationDelivery,
) ([]*orchv1.DestinationDelivery, *orchv1.DestinationUsage, error) {
	used := &orchv1.DestinationUsage{}
	if stored != nil {
		used = proto.CloneOf(stored)
	}
	for i, d := range deliveries {
		size := int64(max(1, proto.Size(d.GetSource())+len(d.GetBody())+len(d.GetSubject())))
		d.WaitingBytes = &size
		full := func() bool { return used.GetCount() >= maxQueued || used.GetBytes()+size > maxQueuedBytes }
		now := s.Store.Now()
		if used.GetMeasured() == 0 || full() && now.Sub(time.UnixMicro(used.GetMeasured())) >= measureAgain {
			waiting, err := s.measure(ctx, ws, append(deliveriesOf(id), bson.E{Key: "waiting_bytes", Value: bson.D{{Key: "$gt", Value: int64(0)}}}), "waiting_bytes")
			if err != nil {
				return nil, nil, err
			}
			used = &orchv1.DestinationUsage{Count: waiting.count, Bytes: waiting.bytes, Measured: now.UnixMicro()}
		}
		if full() {
			return deliveries[:i], used, nil
		}
		used.Count++
		used.Bytes += size
	}
	return deliveries, used, nil
}

// withAdmitted returns the usage of a queue with admitted deliveries. stored is the usage at the time of the change, to which other writers
// may have added deliveries meanwhile, and computed that of admit, which counts if it has a newer measurement.
func withAdmitted(stored, computed *orchv1.DestinationUsage, admitted []*orchv1.DestinationDelivery) *orchv1.DestinationUsage {
	if stored.GetMeasured() < computed.GetMeasured() {
		return computed
	}
	sum := proto.CloneOf(stored)
	for _, d := range admitted {
		sum.Count++
		sum.Bytes += d.GetWaitingBytes()
	}
	return sum
}

// measure counts deliveries, and adds their bytes, which are a field.
func (s *Service) measure(ctx context.Context, ws uuid.UUID, filter bson.D, bytes string) (usage, error) {
	var rows []struct {
		Count int64 `bson:"count"`
		Bytes int64 `bson:"bytes"`
	}
	err := s.deliveries.Aggregate(ctx, ws, filter, []bson.D{{{Key: "$group", Value: bson.D{
		{Key: "_id", Value: nil}, {Key: "count", Value: bson.D{{Key: "$sum", Value: 1}}}, {Key: "bytes", Value: bson.D{{Key: "$sum", Value: "$" + bytes}}},
	}}}}, &rows)
	if err != nil || len(rows) == 0 {
		return usage{}, err
	}
	return usage{count: rows[0].Count, bytes: rows[0].Bytes}, nil
}

// mayReport reports whether refused deliveries may be reported now.
func (t *subscriber) mayReport(now time.Time) bool {
	if passed := now.Sub(t.reported); passed >= 0 && passed < reportAgain {
		return false
	}
	t.reported = now
	return true
}

// scheduled is the condition of deliveries that have a time of their next attempt. Parked deliveries have none.
var scheduled = bson.E{Key: "next_attempt", Value: bson.D{{Key: "$gt", Value: int64(0)}}}

// byTime is the order in which deliveries are attempted, bySequence that of a key.
var (
	byTime     = bson.D{{Key: "next_attempt", Value: 1}, {Key: "sequence", Value: 1}}
	bySequence = bson.D{{Key: "sequence", Value: 1}}
)

// due returns the first deliveries of a destination that are due: at least one, if there is one, and as many as the bytes permit.
func (s *Service) due(ctx context.Context, ws, destination uuid.UUID) ([]*orchv1.DestinationDelivery, error) {
	filter := append(deliveriesOf(destination), bson.E{Key: "next_attempt", Value: bson.D{
		{Key: "$gt", Value: int64(0)}, {Key: "$lte", Value: s.Store.Now().UnixMicro()},
	}})
	found, _, err := s.deliveries.Page(ctx, ws, store.Query{Filter: filter, Sort: byTime, Limit: pageSize, Bytes: pageBytes})
	return found, err
}

// first returns the first delivery of a destination that is scheduled, nil for none.
func (s *Service) first(ctx context.Context, ws, destination uuid.UUID) (*orchv1.DestinationDelivery, error) {
	found, err := s.deliveries.Find(ctx, ws, store.Query{Filter: append(deliveriesOf(destination), scheduled), Sort: byTime, Limit: 1})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// firstOf returns the first deliveries of a key that wait, scheduled or parked: whole ones, or the given fields.
func (s *Service) firstOf(ctx context.Context, ws, destination uuid.UUID, key string, n int, fields ...string) ([]*orchv1.DestinationDelivery, error) {
	return s.deliveries.Find(ctx, ws, store.Query{
		Filter: append(deliveriesOf(destination), bson.E{Key: "key", Value: key}), Sort: bySequence, Limit: int64(n), Fields: fields,
	})
}

// park takes deliveries out of the order of attempts: they wait for an earlier one of their key. Each delivery is parked about once, so a
// key that fails for long costs no more than one that fails once.
func (s *Service) park(ctx context.Context, ws uuid.UUID, waiting []*orchv1.DestinationDelivery) error {
	if len(waiting) == 0 {
		return nil
	}
	ids, err := idsOf(waiting)
	if err != nil {
		return err
	}
	return s.Store.UpdateMany(ctx, s.deliveries.Name(), ws, bson.D{{Key: "_id", Value: store.OneOf(ids)}, scheduled}, bson.D{{Key: "$unset", Value: bson.D{{Key: "next_attempt", Value: ""}}}})
}

// promote makes the parked deliveries of a key that follow a delivery due, as many as a page has. It precedes the end of that delivery, so
// no crash leaves a key without a delivery that is due.
func (s *Service) promote(ctx context.Context, ws, destination uuid.UUID, key string, after int64) error {
	following, err := s.deliveries.Find(ctx, ws, store.Query{
		Filter: append(deliveriesOf(destination), bson.E{Key: "key", Value: key}, bson.E{Key: "sequence", Value: bson.D{{Key: "$gt", Value: after}}}),
		Sort:   bySequence, Limit: pageSize, Fields: []string{"_id", "sequence", "next_attempt"},
	})
	if err != nil {
		return err
	}
	parked := slices.DeleteFunc(following, func(d *orchv1.DestinationDelivery) bool { return d.NextAttempt != nil })
	if len(parked) == 0 {
		return nil
	}
	ids, err := idsOf(parked)
	if err != nil {
		return err
	}
	// The time precedes those of later deliveries of the key.
	unscheduled := bson.E{Key: "next_attempt", Value: bson.D{{Key: "$exists", Value: false}}}
	return s.reschedule(ctx, ws, bson.D{{Key: "_id", Value: store.OneOf(ids)}, unscheduled}, time.UnixMicro(parked[0].GetSequence()))
}

func idsOf(deliveries []*orchv1.DestinationDelivery) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, len(deliveries))
	for i, d := range deliveries {
		var err error
		if ids[i], err = uuid.Parse(d.GetId()); err != nil {
			return nil, fmt.Errorf("read the id of a delivery: %w", err)
		}
	}
	return ids, nil
}

// expedite makes all deliveries of a destination due that wait for a later attempt, as if they had been due since a time.
func (s *Service) expedite(ctx context.Context, ws, destination uuid.UUID, since time.Time) error {
	later := bson.E{Key: "next_attempt", Value: bson.D{{Key: "$gt", Value: s.Store.Now().UnixMicro()}}}
	return s.reschedule(ctx, ws, append(deliveriesOf(destination), later), since)
}

func (s *Service) reschedule(ctx context.Context, ws uuid.UUID, filter bson.D, to time.Time) error {
	return s.Store.UpdateMany(ctx, s.deliveries.Name(), ws, filter, bson.D{{Key: "$set", Value: bson.D{{Key: "next_attempt", Value: to.UnixMicro()}}}})
}
