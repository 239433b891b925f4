package tracing

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Line is one span of a trace file.
type Line struct {
	Name     string `json:"name"`
	TraceID  string `json:"trace_id"`
	SpanID   string `json:"span_id"`
	ParentID string `json:"parent_id,omitempty"`
	// Kind is internal, server, client, producer or consumer.
	Kind    string `json:"kind"`
	Service string `json:"service,omitempty"`
	// Component is what started the span, such as gateway.
	Component  string         `json:"component"`
	Start      time.Time      `json:"start"`
	DurationUS int64          `json:"duration_us"`
	Attributes map[string]any `json:"attributes,omitempty"`
	// Links are the ids of other spans of the same batch.
	Links []string `json:"links,omitempty"`
	Error string   `json:"error,omitempty"`
}

// fileExporter writes spans as JSON lines when they end.
type fileExporter struct {
	mu   sync.Mutex
	file io.WriteCloser
}

// openFile appends to a trace file, which only its owner may read.
func openFile(path string) (*fileExporter, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open trace file: %w", err)
	}
	return &fileExporter{file: f}, nil
}

// ExportSpans implements sdktrace.SpanExporter.
func (e *fileExporter) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, span := range spans {
		text, err := json.Marshal(lineOf(span))
		if err != nil {
			return fmt.Errorf("encode span: %w", err)
		}
		e.mu.Lock()
		_, err = e.file.Write(append(text, '\n'))
		e.mu.Unlock()
		if err != nil {
			return fmt.Errorf("write trace file: %w", err)
		}
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (e *fileExporter) Shutdown(context.Context) error {
	if err := e.file.Close(); err != nil {
		return fmt.Errorf("close trace file: %w", err)
	}
	return nil
}

func lineOf(span sdktrace.ReadOnlySpan) Line {
	line := Line{
		Name: span.Name(), TraceID: span.SpanContext().TraceID().String(), SpanID: span.SpanContext().SpanID().String(),
		Kind: span.SpanKind().String(), Component: span.InstrumentationScope().Name,
		Start: span.StartTime().UTC(), DurationUS: span.EndTime().Sub(span.StartTime()).Microseconds(),
	}
	if parent := span.Parent(); parent.IsValid() {
		line.ParentID = parent.SpanID().String()
	}
	for _, a := range span.Resource().Attributes() {
		if a.Key == "service.name" {
			line.Service = a.Value.AsString()
		}
	}
	if attributes := span.Attributes(); len(attributes) > 0 {
		line.Attributes = make(map[string]any, len(attributes))
		for _, a := range attributes {
			line.Attributes[string(a.Key)] = a.Value.AsInterface()
		}
	}
	for _, link := range span.Links() {
		line.Links = append(line.Links, link.SpanContext.SpanID().String())
	}
	if status := span.Status(); status.Code == codes.Error {
		line.Error = status.Description
	}
	return line
}
