package eventtypes

import (
	"context"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/eventtypes/inference"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// maxUnknown bounds the names of a batch that are read for a workspace without room for names.
const maxUnknown = 100

// Prepare refreshes the event types of a batch, stores event types for new names, and annotates the events. The error is an outage.
func (s *Service) Prepare(ctx context.Context, batch []broker.Event) error {
	if err := s.readBatch(ctx, batch, s.prepare); err != nil {
		return err
	}
	s.annotate(batch)
	return nil
}

// readBatch calls read with the names of a batch that are not fresh, for each workspace. The error is an outage.
func (s *Service) readBatch(ctx context.Context, batch []broker.Event, read func(ctx context.Context, ws uuid.UUID, names map[string]bool, now time.Time) error) error {
	now := s.Store.Now()
	unread := map[uuid.UUID]map[string]bool{}
	for i := range batch {
		ws, name := batch[i].Workspace, batch[i].Type
		if len(name) > maxName || s.register.isFresh(ws, name, now) || unread[ws][name] {
			continue
		}
		if unread[ws] == nil {
			unread[ws] = map[string]bool{}
		}
		if len(unread[ws]) < maxUnknown || !s.register.isFull(ws, now) {
			unread[ws][strings.Clone(name)] = true // The batch's memory is reused.
		}
	}
	pass := s.Store.Pass(ctx, "read the event types of a workspace")
	for ws, names := range unread {
		if pass.Record(read(ctx, ws, names, now), "workspace", ws) != nil {
			break
		}
	}
	return pass.Outage()
}

// prepare reads event types of a workspace, and stores the missing ones.
func (s *Service) prepare(ctx context.Context, ws uuid.UUID, names map[string]bool, now time.Time) error {
	missing, err := s.read(ctx, ws, names, now)
	if err != nil || len(missing) == 0 || s.register.isFull(ws, now) {
		return err
	}
	n, err := s.types.Count(ctx, ws, store.Query{Limit: maxTypes})
	if err != nil {
		return err
	}
	if room := max(0, maxTypes-int(n)); room < len(missing) {
		s.register.setFull(ws, now)
		missing = missing[:room]
	}
	added := make([]*orchv1.EventType, len(missing))
	for i, name := range missing {
		added[i] = &orchv1.EventType{
			Id: s.Store.NewID().String(), Name: name, FirstSeen: timestamppb.New(now), LastSeen: timestamppb.New(now), Expires: expiry(now),
		}
	}
	taken, err := store.InsertAll(ctx, s.types, ws, added)
	if err != nil {
		return err
	}
	others := map[string]bool{} // Names that another replica has stored meanwhile.
	for i, t := range added {
		if slices.Contains(taken, i) {
			others[t.GetName()] = true
			continue
		}
		id, err := uuid.Parse(t.GetId())
		if err != nil {
			return err
		}
		s.register.put(ws, t.GetName(), id, now, 0, now)
	}
	if len(others) > 0 {
		_, err = s.read(ctx, ws, others, now)
	}
	return err
}

// readKnown reads event types of a workspace. Names without an event type are no error.
func (s *Service) readKnown(ctx context.Context, ws uuid.UUID, names map[string]bool, now time.Time) error {
	_, err := s.read(ctx, ws, names, now)
	return err
}

// expiry is the time at which an event type is deleted that had its last event at a time.
func expiry(last time.Time) *int64 { return proto.Int64(last.Add(unseenAfter).UnixMicro()) }

// read reads event types of a workspace into the register, and returns the names that have none, in order.
func (s *Service) read(ctx context.Context, ws uuid.UUID, names map[string]bool, now time.Time) (missing []string, err error) {
	in := make(bson.A, 0, len(names))
	for name := range names {
		in = append(in, name)
	}
	found, changed := map[string]bool{}, map[uuid.UUID]int64{}
	by := store.Query{Filter: bson.D{{Key: "name", Value: bson.D{{Key: "$in", Value: in}}}}, Fields: []string{"_id", "name", "last_seen", "pinned"}}
	err = store.EachRaw(ctx, s.types, ws, by, func(raw bson.Raw) bool {
		name, _ := raw.Lookup("name").StringValueOK()
		last, _ := raw.Lookup("last_seen").AsInt64OK()
		if id, err := store.UUID(raw.Lookup("_id")); err == nil {
			found[name] = true
			if pinned, _ := raw.Lookup("pinned").AsInt64OK(); s.register.put(ws, name, id, time.UnixMicro(last), pinned, now) {
				changed[id] = pinned
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	pass := s.Store.Pass(ctx, "read a pinned schema")
	for id, pinned := range changed {
		if pass.Record(s.readPin(ctx, ws, id, pinned, now), "workspace", ws, "event_type", id) != nil {
			break
		}
	}
	if err := pass.Outage(); err != nil {
		return nil, err
	}
	for name := range names {
		if !found[name] {
			s.register.forget(ws, name) // It may have been deleted.
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// seed is the seed of the hashes of shapes.
var seed = maphash.MakeSeed()

// Observe takes a sample of an event whose batch was prepared. Invalid JSON, and payloads above maxSampled, are no samples.
func (s *Service) Observe(ws uuid.UUID, name string, payload []byte, received time.Time) {
	if !s.register.see(ws, name, len(payload), received, s.Store.Now()) {
		return
	}
	sample, err := inference.Of(payload)
	if err != nil {
		return
	}
	sample = sample.Within(maxSchema)
	s.register.add(ws, name, maphash.Bytes(seed, sample.JSON()), sample)
}
