package render

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

var (
	// ErrFilter is wrapped when the filter does not compile or fails. It wraps the engine's error.
	ErrFilter = errors.New("filter cannot be evaluated")
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
	strict    *jinja.Engine
	vocab     vocabulary.Vocabulary
	labels    []labelPattern
	limits    events.Limits
	ids       *id.Source
	timeout   time.Duration // Of one rendering.
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
		strict:    webhook.NewEngine(webhook.Options{Vocabulary: o.Vocabulary, Budget: o.Budget, CacheEntries: templates, Strict: true}),
		vocab:     o.Vocabulary,
		labels:    labelPatterns(o.Vocabulary),
		limits:    o.Limits,
		ids:       o.IDs,
		timeout:   cmp.Or(o.Budget.Timeout, jinja.DefaultBudget().Timeout),
	}
}

// CheckTemplate returns the syntax error of a template, which is a *jinja.Error.
func (e *Engine) CheckTemplate(template string) error {
	_, err := e.templates.Cached(template)
	return err
}

// CheckFilter returns the syntax error of a filter, which is a *jinja.Error.
func (e *Engine) CheckFilter(filter string) error {
	_, err := e.templates.CachedExpression(filter)
	return err
}

// Render renders a template with a request. A missing value prints nothing.
func (e *Engine) Render(ctx context.Context, template string, v *Variables) (string, error) {
	return render(ctx, e.templates, template, v, nil, ErrTemplate)
}

// engineOf returns the engine for the filter, the template and the response of a webhook.
func (e *Engine) engineOf(hook *orchv1.WebhookDefinition) *jinja.Engine {
	if hook.GetUndefined() == orchv1.WebhookUndefined_WEBHOOK_UNDEFINED_STRICT {
		return e.strict
	}
	return e.templates
}

// Match reports whether a request passes the filter of a webhook, which may have none. The error wraps ErrFilter. It charges memory
// as RenderFor.
func (e *Engine) Match(ctx context.Context, hook *orchv1.WebhookDefinition, v *Variables, memory *admission.Reservation) (bool, error) {
	if hook.Filter == nil {
		return true, nil
	}
	x, err := e.engineOf(hook).CachedExpression(hook.GetFilter())
	if err != nil {
		return false, positioned(ErrFilter, err)
	}
	vars, held := v.read(x.Reads)
	matches, err := x.TestWithin(ctx, vars, held, memory)
	if err != nil {
		return false, positioned(ErrFilter, err)
	}
	return matches, nil
}

// RenderFor renders the template of a webhook with a request, by the webhook's settings. It charges memory, which may be nil, for
// what the template allocates. The caller has charged r.Parsed.
func (e *Engine) RenderFor(ctx context.Context, hook *orchv1.WebhookDefinition, v *Variables, memory *admission.Reservation) (string, error) {
	return render(ctx, e.engineOf(hook), hook.GetTemplate(), v, memory, ErrTemplate)
}

// Undefined returns the error of the first missing value that Render prints as nothing; nil if there is none.
func (e *Engine) Undefined(ctx context.Context, template string, v *Variables) error {
	if _, err := render(ctx, e.strict, template, v, nil, ErrTemplate); isUndefined(err) {
		return err
	}
	return nil
}

// isUndefined reports whether a strict template failed for a missing value. Filters that take no such value fail with a
// type error, as in Python.
func isUndefined(err error) bool {
	at, ok := errors.AsType[*jinja.Error](err)
	return ok && (at.Kind == jinja.KindUndefined || strings.Contains(at.Error(), "StrictUndefined"))
}

// render renders a template. Its errors wrap source, which is ErrTemplate or ErrResponse.
func render(
	ctx context.Context, templates *jinja.Engine, template string, v *Variables, memory *admission.Reservation, source error,
) (string, error) {
	t, err := templates.Cached(template)
	if err != nil {
		return "", positioned(source, err)
	}
	vars, held := v.read(t.Reads)
	text, err := t.RenderWithin(ctx, vars, held, memory)
	if err != nil {
		return "", positioned(source, err)
	}
	return text, nil
}
