// Package live decides what the pages of the dashboard follow. A page names a topic; the topic selects the messages of the
// feeds of package stream that make the page ask again.
//
//	page ── websocket /live?topic=flow-run/<id> ──▶ Parse ──▶ Watch ──▶ package stream ──▶ invalidations
//
// An invalidation carries no data. The page then requests its own fragment, which is authorized as every page is. A topic needs the
// scopes of its page, so an invalidation reveals nothing that its reader may not see.
package live

import (
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/stream"
)

// Topic is what a page follows: all objects of a kind, or one.
type Topic struct {
	// Kind is one of the keys of kinds.
	Kind string
	// ID is the object's UUID, uuid.Nil for all of the kind.
	ID uuid.UUID
}

// kind is the rpc that a topic needs, and what it watches.
type kind struct {
	rpc   string
	one   bool // The topic names one object.
	watch func(id uuid.UUID, v vocabulary.Vocabulary) stream.Watch
}

var kinds = map[string]kind{
	"runs": {rpc: orchv1.FlowRunService_ReadFlowRuns_FullMethodName, watch: func(_ uuid.UUID, v vocabulary.Vocabulary) stream.Watch {
		prefix := v.Name("flow-run", "")
		return stream.Watch{Event: func(e *orchv1.ReceivedEvent) bool { return strings.HasPrefix(e.GetEvent(), prefix) }}
	}},
	"flow-run": {rpc: orchv1.FlowRunService_ReadFlowRun_FullMethodName, one: true, watch: func(id uuid.UUID, v vocabulary.Vocabulary) stream.Watch {
		run := id.String()
		return stream.Watch{
			Event: matcher(v, v.Name("flow-run", run)),
			Log:   func(l *orchv1.Log) bool { return l.GetFlowRunId() == run },
		}
	}},
	"task-run": {rpc: orchv1.TaskRunService_ReadTaskRun_FullMethodName, one: true, watch: func(id uuid.UUID, v vocabulary.Vocabulary) stream.Watch {
		run := id.String()
		return stream.Watch{
			Event: matcher(v, v.Name("task-run", run)),
			Log:   func(l *orchv1.Log) bool { return l.GetTaskRunId() == run },
		}
	}},
	"events": {rpc: orchv1.EventService_ReadEvents_FullMethodName, watch: func(uuid.UUID, vocabulary.Vocabulary) stream.Watch {
		return stream.Watch{Event: func(*orchv1.ReceivedEvent) bool { return true }}
	}},
	"deliveries": {rpc: orchv1.WebhookService_ReadDeliveries_FullMethodName, watch: func(uuid.UUID, vocabulary.Vocabulary) stream.Watch {
		return stream.Watch{Delivery: func(uuid.UUID) bool { return true }}
	}},
	"webhook": {rpc: orchv1.WebhookService_ReadDeliveries_FullMethodName, one: true, watch: func(id uuid.UUID, _ vocabulary.Vocabulary) stream.Watch {
		return stream.Watch{Delivery: func(webhook uuid.UUID) bool { return webhook == id }}
	}},
}

// matcher selects events whose resource, or one of whose related resources, has an id.
func matcher(v vocabulary.Vocabulary, resource string) func(*orchv1.ReceivedEvent) bool {
	label := v.ResourceID()
	return func(e *orchv1.ReceivedEvent) bool {
		if e.GetResource().GetLabels()[label] == resource {
			return true
		}
		for _, related := range e.GetRelated() {
			if related.GetLabels()[label] == resource {
				return true
			}
		}
		return false
	}
}

// Parse reads a topic, such as "runs" or "flow-run/<uuid>". It returns false for anything else.
func Parse(text string) (Topic, bool) {
	name, id, hasID := strings.Cut(text, "/")
	k, ok := kinds[name]
	if !ok || k.one != hasID {
		return Topic{}, false
	}
	t := Topic{Kind: name}
	if hasID {
		parsed, err := uuid.Parse(id)
		if err != nil {
			return Topic{}, false
		}
		t.ID = parsed
	}
	return t, true
}

// RPC is the rpc whose scope a follower of the topic needs.
func (t Topic) RPC() string { return kinds[t.Kind].rpc }

// Watch selects the messages that concern the topic.
func (t Topic) Watch(v vocabulary.Vocabulary) stream.Watch { return kinds[t.Kind].watch(t.ID, v) }
