package action

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/jsontree"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Preview renders the templates of an action run without effects, in the order of the action's fields. The action run need not be stored.
// Previews have bounds of their own, so they delay no action.
func (r *Runner) Preview(ctx context.Context, ws uuid.UUID, run *orchv1.AutomationActionRun) ([]*orchv1.AutomationRendering, error) {
	ctx, err := r.outgoing(ctx, ws, run.GetAutomation())
	if err != nil {
		return nil, err
	}
	p := &preview{Runner: r.previews, ctx: ctx, run: run}
	switch kind := run.GetAction().GetKind().(type) {
	case *orchv1.Action_SendNotification:
		p.text("subject", kind.SendNotification.GetSubject())
		p.text("body", kind.SendNotification.GetBody())
	case *orchv1.Action_SendEmailNotification:
		p.text("subject", kind.SendEmailNotification.GetSubject())
		p.text("body", kind.SendEmailNotification.GetBody())
	case *orchv1.Action_CallWebhook:
		p.text("payload", kind.CallWebhook.GetPayload())
	case *orchv1.Action_RunDeployment:
		action := kind.RunDeployment
		if rendered, err := p.finalParameters(ctx, run, action); rendered != nil || err != nil {
			p.add("parameters", rendered, err)
		}
		p.key("debounce.key", action.GetDebounce().GetKey())
		p.key("batch.key", action.GetBatch().GetKey())
		p.key("singleton.key", action.GetSingleton().GetKey())
	}
	return p.renderings, ctx.Err()
}

// preview collects the renderings of an action.
type preview struct {
	*Runner
	ctx        context.Context //nolint:containedctx // It lives as long as the call.
	run        *orchv1.AutomationActionRun
	renderings []*orchv1.AutomationRendering
}

func (p *preview) text(field, template string) {
	text, err := p.render(p.ctx, p.run, template)
	p.add(field, jsontree.Text(text), err)
}

// key renders a key, unless the action has none.
func (p *preview) key(field, template string) {
	if template == "" {
		return
	}
	text, err := p.keyText(p.ctx, p.run, template)
	p.add(field, jsontree.Text(text), err)
}

func (p *preview) add(field string, value []byte, err error) {
	one := &orchv1.AutomationRendering{Field: field, Value: value}
	if err != nil {
		one.Value, one.Error = nil, proto.String(err.Error())
	}
	if invalid, ok := errors.AsType[*jinja.Error](err); ok && invalid.Line > 0 {
		one.Line, one.Column = proto.Int64(int64(invalid.Line)), proto.Int64(int64(invalid.Column))
	}
	p.renderings = append(p.renderings, one)
}
