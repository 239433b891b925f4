package action

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
)

// The bounds of templates in actions, beside the engine's own.
const (
	maxRange     = 100
	maxLoops     = 10
	maxLoopDepth = 2
)

// NewEngine returns the engine of templates over events. ui is the address of the dashboard.
func NewEngine(ui string, v vocabulary.Vocabulary) *jinja.Engine {
	return jinja.New(jinja.Options{
		Undefined: jinja.Chainable, Budget: jinja.Budget{Range: maxRange}, Loops: maxLoops, LoopDepth: maxLoopDepth,
		Filters: map[string]jinja.FilterFunc{
			"ui_url":                 func(c *jinja.Call) (jinja.Value, error) { return jinja.Str(address(ui, v, c.Value)), nil },
			"ui_resource_events_url": func(c *jinja.Call) (jinja.Value, error) { return jinja.Str(eventsAddress(ui, v, c.Value)), nil },
		},
	})
}

func isTemplate(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%")
}

// render renders a text; one without template signs stays as it is.
func (r *Runner) render(ctx context.Context, run *orchv1.AutomationActionRun, text string) (string, error) {
	if !isTemplate(text) {
		return text, nil
	}
	program, err := r.engine.Compile(text)
	if err != nil {
		return "", err
	}
	end, err := r.renderings.Begin(ctx, proto.Size(run.GetFiring()))
	if err != nil {
		return "", err
	}
	defer end()
	return program.Render(ctx, r.variables(ctx, run, text))
}

// templateFailed notes that a template could not be rendered.
func (r *Runner) templateFailed(o *result, err error, message, source string) *result {
	if templateErr, ok := errors.AsType[*jinja.Error](err); ok {
		message = templateErr.Error()
	}
	o.details["template_error"] = message
	if source != "" {
		o.details["template_source"] = source
	}
	return o.fail("Template rendering failed: %s", message)
}

var (
	// errRemove makes a key go whose value has no content.
	errRemove = errors.New("the key has no content")
	// errUnreadVariable means that a variable could not be read now.
	errUnreadVariable = errors.New("read variable")
)

// parameters renders the parameters of a deployment run. A text that looks like a template becomes the text that it
// renders, and a lone expression the value that it has. Markers of the definition are replaced; those in a value of an event are data.
func (r *Runner) parameters(ctx context.Context, run *orchv1.AutomationActionRun, text []byte) ([]byte, error) {
	object, err := jsontree.ParseObject(text)
	if err != nil {
		return nil, err
	}
	rendered, err := r.parameter(ctx, run, object, true)
	if err != nil {
		return nil, err
	}
	return jsontree.Text(rendered), nil
}

func (r *Runner) parameter(ctx context.Context, run *orchv1.AutomationActionRun, v jsontree.Value, top bool) (jsontree.Value, error) {
	switch v := v.(type) {
	case string:
		if !isTemplate(v) {
			return v, nil
		}
		return r.value(ctx, run, v)
	case jsontree.List:
		list := make(jsontree.List, 0, len(v))
		for _, item := range v {
			rendered, err := r.parameter(ctx, run, item, false)
			if errors.Is(err, errRemove) {
				continue
			}
			if err != nil {
				return nil, err
			}
			list = append(list, rendered)
		}
		return list, nil
	case *jsontree.Object:
		if !top {
			if rendered, marked, err := r.marker(ctx, run, v); marked {
				return rendered, err
			}
		}
		object := jsontree.NewObject()
		for _, member := range v.Members() {
			rendered, err := r.parameter(ctx, run, member.Value, false)
			if errors.Is(err, errRemove) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", member.Key, err)
			}
			object.Set(member.Key, rendered)
		}
		return object, nil
	}
	return v, nil
}

// value renders a template. A lone expression keeps its type.
func (r *Runner) value(ctx context.Context, run *orchv1.AutomationActionRun, text string) (jsontree.Value, error) {
	if expression, lone := loneExpression(text); lone {
		rendered, err := r.render(ctx, run, "{{ ("+expression+") | tojson }}")
		if err == nil {
			if parsed, err := jsontree.Parse(rendered); err == nil {
				return parsed, nil
			}
		}
	}
	return r.render(ctx, run, text)
}

// loneExpression returns the expression of a text that is nothing but one.
func loneExpression(text string) (string, bool) {
	text = strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(text, "{{")
	if !ok {
		return "", false
	}
	inner, ok = strings.CutSuffix(inner, "}}")
	if !ok || strings.Contains(inner, "{{") || strings.Contains(inner, "}}") || strings.Contains(inner, "{%") {
		return "", false
	}
	return strings.Trim(strings.TrimSpace(inner), "-+ "), true
}

// marker replaces an object of the action's definition that stands for a value, in either notation of its key. Its result is data, and its markers are not replaced.
func (r *Runner) marker(ctx context.Context, run *orchv1.AutomationActionRun, v *jsontree.Object) (jsontree.Value, bool, error) {
	for _, vocab := range []vocabulary.Vocabulary{vocabulary.Orch, vocabulary.Prefect} {
		if _, marked := v.Get(vocab.KindKey()); !marked {
			continue
		}
		content, has := v.Get("value")
		switch v.Text(vocab.KindKey()) {
		case "jinja":
			rendered, err := r.render(ctx, run, v.Text("template"))
			return rendered, true, err
		case "json":
			text, isText := content.(string)
			if !has || !isText {
				return nil, true, errRemove
			}
			parsed, err := jsontree.Parse(text)
			return parsed, true, err
		case "workspace_variable":
			name := v.Text("variable_name")
			if name == "" {
				return nil, true, errRemove
			}
			value, err := r.workspaceVariable(ctx, name)
			return value, true, err
		}
		if !has {
			return nil, true, errRemove
		}
		rendered, err := r.parameter(ctx, run, content, false)
		return rendered, true, err
	}
	return nil, false, nil
}

// workspaceVariable reads a variable of the workspace. A *parameters.HydrationError reports that there is none.
func (r *Runner) workspaceVariable(ctx context.Context, name string) (jsontree.Value, error) {
	response, _, err := r.Caller.Call(ctx, orchv1.VariableService_ReadVariableByName_FullMethodName, &orchv1.ReadVariableByNameRequest{Name: name})
	if rpc.HTTPError(err).GetStatus() == http.StatusNotFound {
		return nil, &parameters.HydrationError{Reason: fmt.Sprintf("Variable '%s' not found in workspace.", name)}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadVariable, err)
	}
	variable, ok := response.(*orchv1.Variable)
	if !ok {
		return nil, fmt.Errorf("%w: the response is a %T", errUnreadVariable, response)
	}
	return jsontree.Parse(string(variable.GetValue()))
}
