package events

import (
	"cmp"
	"container/heap"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// maxGroups and maxGroupBytes bound the resources, or the names, of a count: the response has those with most events.
	maxGroups     = 1000
	maxGroupBytes = 16 << 20
)

// countByResource counts the events of the resources with most events.
func (s *Service) countByResource(ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter) (*orchv1.EventCountList, error) {
	list, err := s.countGroups(ctx, ws, filter, "resource_id", query.EventsByResource)
	if err != nil {
		return nil, err
	}
	size := 0
	for i, c := range list.GetCounts() {
		if c.Label, err = s.nameOf(ctx, ws, filter, c.GetValue()); err != nil {
			return nil, err
		}
		if size += len(c.GetLabel()); size > maxGroupBytes {
			list.Counts = list.Counts[:i]
			break
		}
	}
	mostFrequentFirst(list)
	return list, nil
}

// countGroups counts the events of each value of a field, the most frequent values first. It reads the fields in the order of the
// values, so it has one group at a time in memory beside the result.
func (s *Service) countGroups(ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter, field string, index bson.D) (*orchv1.EventCountList, error) {
	compiled, err := s.compile(ws, filter)
	if err != nil {
		return nil, err
	}
	by := store.Query{Filter: compiled, Fields: []string{field, "occurred"}, Sort: bson.D{{Key: field, Value: 1}}}
	if decidedByKeys(filter) {
		by.Index = index
	}
	var groups mostFrequent
	var current *orchv1.EventCount
	err = store.EachRaw(ctx, s.events, ws, by, func(raw bson.Raw) bool {
		value, _ := raw.Lookup(field).StringValueOK()
		occurred, _ := raw.Lookup("occurred").AsInt64OK()
		at := timestamppb.New(time.UnixMicro(occurred))
		if current == nil || current.GetValue() != value {
			groups.add(current)
			current = &orchv1.EventCount{Value: value, Label: value, StartTime: at, EndTime: at}
		}
		current.Count++
		if at.AsTime().Before(current.GetStartTime().AsTime()) {
			current.StartTime = at
		}
		if at.AsTime().After(current.GetEndTime().AsTime()) {
			current.EndTime = at
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	groups.add(current)
	list := &orchv1.EventCountList{Counts: groups.kept}
	mostFrequentFirst(list)
	if groups.dropped {
		err = rpc.SetHeader(ctx, request.CountCappedHeader, strconv.Itoa(len(groups.kept)))
	}
	return list, err
}

// decidedByKeys reports whether the keys of an index by resource decide a filter, so another index does not select fewer events.
func decidedByKeys(filter *orchv1.EventFilter) bool {
	return proto.Equal(filter, &orchv1.EventFilter{Occurred: filter.GetOccurred(), Order: filter.GetOrder(), Resource: &orchv1.EventResourceFilter{
		Id: filter.GetResource().GetId(), IdPrefix: filter.GetResource().GetIdPrefix(),
	}}) || proto.Equal(filter, &orchv1.EventFilter{Occurred: filter.GetOccurred(), Order: filter.GetOrder()})
}

// nameOf returns the display name of a resource by its last event: its name, else the older label for a name, else its id.
func (s *Service) nameOf(ctx context.Context, ws uuid.UUID, filter *orchv1.EventFilter, resource string) (string, error) {
	filter = proto.CloneOf(filter)
	filter.Resource = &orchv1.EventResourceFilter{Id: &orchv1.StringList{Values: []string{resource}}}
	compiled, err := s.compile(ws, filter)
	if err != nil {
		return "", err
	}
	labels := map[string]string{}
	last := store.Query{Filter: compiled, Fields: []string{"resource"}, Sort: query.EventSort(orchv1.EventOrder_EVENT_ORDER_DESC), Limit: 1}
	err = store.EachRaw(ctx, s.events, ws, last, func(raw bson.Raw) bool {
		e, err := s.events.Decode(raw)
		if err == nil { // A label that cannot be read does not hide the count.
			labels = e.GetResource().GetLabels()
		}
		return true
	})
	return cmp.Or(labels[s.vocab.ResourceName()], labels[s.vocab.Name("name")], resource), err
}

// mostFrequent is a heap of the most frequent groups, the least frequent at its top.
type mostFrequent struct {
	kept    []*orchv1.EventCount
	bytes   int
	dropped bool
}

func (m *mostFrequent) add(c *orchv1.EventCount) {
	if c == nil {
		return
	}
	heap.Push(m, c)
	for m.bytes += sizeOf(c); len(m.kept) > maxGroups || m.bytes > maxGroupBytes; m.dropped = true {
		m.bytes -= sizeOf(heap.Pop(m).(*orchv1.EventCount))
	}
}

// sizeOf estimates the memory of a group. Its value is also its label until the label is read.
func sizeOf(c *orchv1.EventCount) int { return 256 + len(c.GetValue()) }

func (m *mostFrequent) Len() int      { return len(m.kept) }
func (m *mostFrequent) Swap(i, j int) { m.kept[i], m.kept[j] = m.kept[j], m.kept[i] }
func (m *mostFrequent) Push(c any)    { m.kept = append(m.kept, c.(*orchv1.EventCount)) }

func (m *mostFrequent) Less(i, j int) bool {
	a, b := m.kept[i], m.kept[j]
	return cmp.Or(cmp.Compare(a.GetCount(), b.GetCount()), strings.Compare(b.GetValue(), a.GetValue())) < 0
}

func (m *mostFrequent) Pop() any {
	last := m.kept[len(m.kept)-1]
	m.kept = slices.Delete(m.kept, len(m.kept)-1, len(m.kept))
	return last
}
