package hooks

import (
	"context"

	"github.com/orch-project/orch/pkg/webhook/render"
)

// setResponse replaces a 204 by the response of the webhook. Browsers that open the address run nothing of the body: senders share the
// origin of API and dashboard.
func (d *delivery) setResponse(ctx context.Context, end *decision) {
	if err := d.acquireProcessor(ctx); err != nil {
		end.outcome.Response = render.FailedResponse(err)
		return
	}
	if d.variables == nil { // A duplicate is not rendered.
		d.variables = render.NewVariables(d.request, d.request.Body())
	}
	response := d.renderer.Respond(ctx, d.hook, d.variables, d.memory)
	end.status, end.outcome.Response = int(response.GetStatus()), response
	if response.GetError() != nil {
		return
	}
	if response.GetBody() != "" {
		end.body = []byte(response.GetBody())
		end.setHeader("Content-Type", "text/plain; charset=utf-8")
	}
	for name, value := range response.GetHeaders() {
		end.setHeader(name, value)
	}
	end.setHeader("Content-Security-Policy", "default-src 'none'; sandbox")
}
