package render

import (
	"context"
	"errors"
	"fmt"

	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook"
	"github.com/orch-project/orch/pkg/webhook/receive"
)

var (
	// ErrTemplate is wrapped when the template does not compile or render. It wraps the engine's error.
	ErrTemplate = errors.New("template cannot be rendered")
	// ErrEvent is wrapped when the rendered text is not an event.
	ErrEvent = errors.New("rendered text is not an event")
)

// Options configure an Engine. The zero value renders in the default vocabulary.
type Options struct {
	Vocabulary vocabulary.Vocabulary
	// Budget bounds each rendering.
	Budget jinja.Budget
	// Limits bound the event; zero means events.DefaultLimits.
	Limits events.Limits
	// IDs generates the ids of events whose template sets none; nil means id.System.
	IDs *id.Source
}

// Engine renders templates and parses events. It is safe for concurrent use.
type Engine struct {
	templates *jinja.Engine
	vocab     vocabulary.Vocabulary
	limits    events.Limits
	ids       *id.Source
}

// New returns an engine.
func New(o Options) *Engine {
	if o.Limits == (events.Limits{}) {
		o.Limits = events.DefaultLimits()
	}
	if o.IDs == nil {
		o.IDs = id.System()
	}
	const templates = 1024 // The cache of compiled templates.
	return &Engine{
		templates: webhook.NewEngine(webhook.Options{Vocabulary: o.Vocabulary, Budget: o.Budget, CacheEntries: templates}),
		vocab:     o.Vocabulary,
		limits:    o.Limits,
		ids:       o.IDs,
	}
}

// Render renders a template with a request.
func (e *Engine) Render(ctx context.Context, template string, r *receive.Request, body receive.Body) (string, error) {
	t, err := e.templates.Cached(template)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrTemplate, err)
	}
	text, err := t.Render(ctx, variables(t, r, body))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrTemplate, err)
	}
	return text, nil
}
