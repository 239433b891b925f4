package automations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// The bounds of templates in actions, beside the engine's own.
const (
	maxRange     = 100
	maxLoops     = 10
	maxLoopDepth = 2
)

// newTemplates returns the engine that checks templates. It only compiles, so the additional filters of actions need names
// and no behaviour.
func newTemplates() *jinja.Engine {
	same := func(c *jinja.Call) (jinja.Value, error) { return c.Value, nil }
	return jinja.New(jinja.Options{
		Undefined: jinja.Chainable, Budget: jinja.Budget{Range: maxRange}, Loops: maxLoops, LoopDepth: maxLoopDepth,
		Filters: map[string]jinja.FilterFunc{"ui_url": same, "ui_resource_events_url": same},
	})
}

// isTemplate tells whether a text has to be rendered at all.
func isTemplate(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%")
}

// ValidateAutomationTemplate answers 422, with the line and the field error, when a text is no template that actions may use.
func (s *Service) ValidateAutomationTemplate(ctx context.Context, r *orchv1.ValidateAutomationTemplateRequest) (*emptypb.Empty, error) {
	return s.validate(ctx, r.GetTemplate())
}

// ValidateTemplate is ValidateAutomationTemplate under its other address.
func (s *Service) ValidateTemplate(ctx context.Context, r *orchv1.ValidateTemplateRequest) (*emptypb.Empty, error) {
	return s.validate(ctx, r.GetTemplate())
}

func (s *Service) validate(ctx context.Context, template string) (*emptypb.Empty, error) {
	memory, err := s.admission.Compute(ctx, len(template))
	if err != nil {
		return nil, fmt.Errorf("check a template: %w", err)
	}
	defer memory.Close()
	_, err = s.templates.Compile(template)
	if err == nil {
		return &emptypb.Empty{}, nil
	}
	var fieldError *jinja.Error
	if !errors.As(err, &fieldError) {
		return nil, fmt.Errorf("check a template: %w", err)
	}
	type found struct {
		Line    int    `json:"line"`
		Message string `json:"message"`
		Source  string `json:"source"`
	}
	body, err := json.Marshal(map[string]found{"error": {fieldError.Line, fieldError.Message, template}})
	if err != nil {
		return nil, fmt.Errorf("encode template error: %w", err)
	}
	return nil, rpc.Error(&orchv1.HttpError{Status: http.StatusUnprocessableEntity, Form: &orchv1.HttpError_Body{Body: body}})
}

// templateFault is what is wrong with a template and, behind it, where.
func templateError(err error) string {
	var fieldError *jinja.Error
	switch {
	case !errors.As(err, &fieldError):
		return err.Error()
	case fieldError.Line == 0:
		return fieldError.Message
	}
	return fmt.Sprintf("%s (line %d, column %d)", fieldError.Message, fieldError.Line, fieldError.Column)
}
