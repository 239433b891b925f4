package events

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Writer encodes events for the broker. It reuses its memory, so it serves one goroutine.
type Writer struct {
	vocab     vocabulary.Vocabulary
	workspace uuid.UUID // Of the last event.
	source    string    // Of that workspace.
	data      []byte    // Of the last event.
}

// NewWriter returns a writer.
func NewWriter(v vocabulary.Vocabulary) *Writer { return &Writer{vocab: v} }

// Write encodes an event of a workspace, which must have passed Validate. The writer owns its data until the next call.
func (w *Writer) Write(e *orchv1.ReceivedEvent, workspace uuid.UUID) (broker.Event, error) {
	id, err := uuid.Parse(e.GetId())
	if err != nil {
		return broker.Event{}, fmt.Errorf("encode event: parse id: %w", err)
	}
	if w.source == "" || w.workspace != workspace {
		w.workspace, w.source = workspace, Source(w.vocab, workspace)
	}
	if cap(w.data) > maxKept {
		w.data = nil // One large event should not hold its memory forever.
	}
	if w.data, err = restjson.Append(w.data[:0], e); err != nil {
		return broker.Event{}, fmt.Errorf("encode event: %w", err)
	}
	return broker.Event{
		ID:        id,
		Source:    w.source,
		Type:      e.GetEvent(),
		Subject:   e.GetResource().GetLabels()[w.vocab.ResourceID()],
		Time:      e.GetOccurred().AsTime(),
		Workspace: w.workspace,
		Data:      w.data,

		TraceParent: e.GetTraceparent(),
		TraceState:  e.GetTracestate(),
	}, nil
}

// maxKept bounds the memory that is reused, in bytes.
const maxKept = 16 << 10
