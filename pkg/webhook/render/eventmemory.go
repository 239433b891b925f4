package render

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// EventMemory is the memory of one event. It serves one goroutine.
type EventMemory struct {
	event    orchv1.ReceivedEvent
	one      [1]*orchv1.ReceivedEvent // The event as a list.
	checked  orchv1.Event             // The event as Validate takes it.
	received timestamppb.Timestamp
	resource orchv1.Resource
	related  []*orchv1.RelatedResource // The first used ones are those of the event.
	used     int
	list     []*orchv1.RelatedResource // The list that event.Related refers to.
	payload  []byte
	text     []byte // The rendered text.
}

const (
	// maxEventMemory is the length of the longest text after which the memory is kept, in bytes.
	maxEventMemory = 16 << 10
	// maxRelatedMemory is the number of related resources that are kept.
	maxRelatedMemory = 16
)

// Clear ends the use of the event. It reports whether the memory is small enough to keep it for another event.
func (m *EventMemory) Clear() bool {
	if len(m.text) > maxEventMemory || len(m.related) > maxRelatedMemory {
		return false
	}
	m.forget()
	m.checked.Reset()
	clear(m.resource.GetLabels())
	for _, r := range m.related {
		clear(r.GetLabels())
	}
	return true
}

// forget removes what was read.
func (m *EventMemory) forget() {
	m.event.Reset()
	clear(m.list)
	m.used, m.list, m.payload = 0, m.list[:0], m.payload[:0]
}

// labels returns the empty labels of the resource.
func (m *EventMemory) labels() map[string]string {
	if m.resource.Labels == nil {
		m.resource.Labels = map[string]string{}
	}
	clear(m.resource.Labels)
	return m.resource.Labels
}

// addRelated appends a related resource to the list and returns its empty labels.
func (m *EventMemory) addRelated() map[string]string {
	if m.used == len(m.related) {
		m.related = append(m.related, &orchv1.RelatedResource{Labels: map[string]string{}})
	}
	r := m.related[m.used]
	m.used++
	m.list = append(m.list, r)
	clear(r.Labels)
	return r.Labels
}
