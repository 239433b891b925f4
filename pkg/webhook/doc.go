// Package webhook is what all services agree on about a webhook's template: the engine that compiles and renders it.
//
// Orchestration compiles a template when it is saved, hooks when a request comes. Both must know the same filters, or a
// template could be saved that cannot be rendered, so the engine is made here alone.
//
// Beside Jinja2's own filters there is from_cloud_event, which turns a CloudEvent into an event:
//
//	header ce-specversion ──▶ binary: attributes from ce-* headers, data from the body   ──┐
//	body has specversion  ──▶ structured: attributes and data from the body              ──┼──▶ event
//	a batch, or neither   ──▶ an error: one request is one event
//
//	type → event · subject, else source → resource id · time → occurred
//	data → payload.data · all attributes → payload.cloudevents
package webhook
