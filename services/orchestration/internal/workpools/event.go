package workpools

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// The kinds of resources in events.
const (
	kindPool  = "work-pool"
	kindQueue = "work-queue"
)

// followsWithin is how long after an event of a status the next one names it as its predecessor.
const followsWithin = 10 * time.Minute

// poolEvent is the effect that tells what happened to a pool.
func (p *Pools) poolEvent(ws uuid.UUID, pool *orchv1.WorkPool, verb string, payload []byte) (store.Effect, error) {
	id, err := resourceid.Parse(pool.GetId())
	if err != nil {
		return store.Effect{}, err
	}
	s := p.pools.Store()
	e := events.Lifecycle{ID: s.NewID(), Kind: kindPool, Verb: verb, Of: id, Name: pool.GetName(), At: s.Now(), Payload: payload}.Event(p.vocab)
	maps.Copy(e.GetResource().GetLabels(), map[string]string{
		p.vocab.Name(kindPool, "type"): pool.GetType(), p.vocab.ResourceRole(): kindPool,
	})
	if pool.DefaultQueueId != nil {
		e.Related = append(e.Related, events.Related(p.vocab, kindQueue, pool.GetDefaultQueueId(), "default-queue", ""))
	}
	if block := pool.GetStorageConfiguration().GetDefaultResultStorageBlockId(); block != "" {
		e.Related = append(e.Related, events.Related(p.vocab, "block-document", block, "result-storage", ""))
	}
	return events.Publish(ws, e)
}

var poolStatusVerbs = map[orchv1.WorkPoolStatus]string{
	orchv1.WorkPoolStatus_WORK_POOL_STATUS_READY:     "ready",
	orchv1.WorkPoolStatus_WORK_POOL_STATUS_NOT_READY: "not-ready",
	orchv1.WorkPoolStatus_WORK_POOL_STATUS_PAUSED:    "paused",
}

// poolStatusEvent is the effect that tells of a pool's status. The pool remembers the event, which the next one follows.
// A pool of agents has no status; it has one event, as not ready.
func (p *Pools) poolStatusEvent(ws uuid.UUID, pool *orchv1.WorkPool) (store.Effect, error) {
	id, err := resourceid.Parse(pool.GetId())
	if err != nil {
		return store.Effect{}, err
	}
	status := orchv1.WorkPoolStatus_WORK_POOL_STATUS_NOT_READY
	if pool.Status != nil {
		status = pool.GetStatus()
	}
	s := p.pools.Store()
	now := s.Now()
	e := events.Lifecycle{ID: s.NewID(), Kind: kindPool, Verb: poolStatusVerbs[status], Of: id, Name: pool.GetName(), At: now}.Event(p.vocab)
	e.GetResource().GetLabels()[p.vocab.Name(kindPool, "type")] = pool.GetType()
	if pool.StatusEventId != nil && now.Sub(pool.GetStatusEventTime().AsTime()) < followsWithin {
		e.Follows = pool.StatusEventId
	}
	pool.StatusEventId, pool.StatusEventTime = &e.Id, timestamppb.New(now)
	return events.Publish(ws, e)
}

// queueEvent is the effect that tells what happened to a queue.
func (p *Pools) queueEvent(ws uuid.UUID, queue *orchv1.WorkQueue, pool *orchv1.WorkPool, verb string, payload []byte) (store.Effect, error) {
	id, err := resourceid.Parse(queue.GetId())
	if err != nil {
		return store.Effect{}, err
	}
	s := p.queues.Store()
	e := events.Lifecycle{ID: s.NewID(), Kind: kindQueue, Verb: verb, Of: id, Name: queue.GetName(), At: s.Now(), Payload: payload}.Event(p.vocab)
	e.GetResource().GetLabels()[p.vocab.ResourceRole()] = kindQueue
	related := events.Related(p.vocab, kindPool, pool.GetId(), kindPool, pool.GetName())
	related.GetLabels()[p.vocab.Name(kindPool, "type")] = pool.GetType()
	e.Related = append(e.Related, related)
	return events.Publish(ws, e)
}

var queueStatusVerbs = map[orchv1.WorkQueueStatus]string{
	orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_READY:     "ready",
	orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_NOT_READY: "not-ready",
	orchv1.WorkQueueStatus_WORK_QUEUE_STATUS_PAUSED:    "paused",
}

// The fields whose changes events tell of. A change of the status has an event of its own.
var (
	poolFields  = []protoreflect.Name{"description", "base_job_template", "concurrency_limit", "storage_configuration"}
	queueFields = []protoreflect.Name{"name", "description", "concurrency_limit", "priority"}
)

// changes is the payload of an event that tells of changed fields; nil when none of them was changed.
func changes(before, after proto.Message, fields []protoreflect.Name) ([]byte, error) {
	type change struct {
		From json.RawMessage `json:"from"`
		To   json.RawMessage `json:"to"`
	}
	published := struct {
		Fields  []protoreflect.Name          `json:"updated_fields"`
		Updates map[protoreflect.Name]change `json:"updates"`
	}{Updates: map[protoreflect.Name]change{}}
	x, y := before.ProtoReflect(), after.ProtoReflect()
	for _, name := range fields {
		fd := x.Descriptor().Fields().ByName(name)
		if x.Has(fd) == y.Has(fd) && x.Get(fd).Equal(y.Get(fd)) {
			continue
		}
		from, err := restjson.AppendField(nil, x, fd)
		if err != nil {
			return nil, fmt.Errorf("tell of the changed field %s: %w", name, err)
		}
		to, err := restjson.AppendField(nil, y, fd)
		if err != nil {
			return nil, fmt.Errorf("tell of the changed field %s: %w", name, err)
		}
		published.Fields, published.Updates[name] = append(published.Fields, name), change{from, to}
	}
	if len(published.Fields) == 0 {
		return nil, nil
	}
	payload, err := json.Marshal(published)
	if err != nil {
		return nil, fmt.Errorf("tell of changed fields: %w", err)
	}
	return payload, nil
}
