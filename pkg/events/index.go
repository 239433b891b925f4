package events

import (
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Index sets the fields of an event that only the store's indexes need, from its labels: the id of its resource, and
// the distinct ids of all resources, the primary resource's first.
func Index(v vocabulary.Vocabulary, e *orchv1.ReceivedEvent) {
	label := v.ResourceID()
	e.ResourceId = e.GetResource().GetLabels()[label]
	ids := make([]string, 0, 1+len(e.GetRelated()))
	seen := make(map[string]struct{}, cap(ids))
	add := func(id string) {
		if _, again := seen[id]; !again {
			seen[id] = struct{}{}
			ids = append(ids, id)
		}
	}
	add(e.ResourceId)
	for _, r := range e.GetRelated() {
		add(r.GetLabels()[label])
	}
	e.ResourceIds = ids
}
