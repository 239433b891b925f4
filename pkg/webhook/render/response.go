package render

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/orch-project/orch/pkg/admission"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ErrResponse is wrapped when the response of a webhook does not compile or render, or when it is too large. It wraps the engine's error.
var ErrResponse = errors.New("response cannot be rendered")

// The bounds of a response. A size in bytes bounds a template, and also the text that it renders.
const (
	MaxResponseHeaders = 10
	maxHeaderName      = 100
	MaxHeaderValue     = 1 << 10
	MaxResponseBody    = 16 << 10
)

// responseStatuses lists the statuses that a response may have. Senders retry or disable a webhook after others, although its event is stored.
var responseStatuses = []int64{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent}

// reservedHeaders are the headers, and with a final hyphen the beginnings of headers, that a response may not set. The first group frames
// the message. The second group changes what browsers store about the origin, which senders share with API and dashboard.
var reservedHeaders = []string{
	"connection", "content-encoding", "content-length", "date", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "proxy-",

	"accept-ch", "access-control-", "alt-svc", "clear-site-data", "content-security-policy", "content-security-policy-", "cross-origin-", "expect-ct",
	"link", "location", "nel", "origin-agent-cluster", "permissions-policy", "public-key-pins", "refresh", "report-to", "reporting-endpoints",
	"sec-", "service-worker-allowed", "set-cookie", "set-cookie2", "set-login", "sourcemap", "strict-transport-security", "www-authenticate",
	"x-content-type-options", "x-frame-options",
}

// reserved reports whether a response may not set a header.
func reserved(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(reservedHeaders, func(header string) bool {
		return name == header || strings.HasSuffix(header, "-") && strings.HasPrefix(name, header)
	})
}

// ResponseError describes one invalid field of a response. Syntax is true for a template that does not compile.
type ResponseError struct {
	Path    []string // From the response.
	Message string
	Syntax  bool
}

// CheckResponse returns the field errors of a response, which may be nil.
func (e *Engine) CheckResponse(r *orchv1.WebhookResponse) []ResponseError {
	if r == nil {
		return nil
	}
	var invalid []ResponseError
	refuse := func(message string, path ...string) {
		invalid = append(invalid, ResponseError{Path: path, Message: message})
	}
	compile := func(template string, limit int, path ...string) {
		if len(template) > limit {
			refuse(fmt.Sprintf("the template has %d bytes, and at most %d are allowed", len(template), limit), path...)
		} else if err := e.CheckTemplate(template); err != nil {
			invalid = append(invalid, ResponseError{Path: path, Message: err.Error(), Syntax: true})
		}
	}
	if !slices.Contains(responseStatuses, r.GetStatus()) {
		refuse("the status must be 200, 201, 202 or 204", "status")
	}
	if r.GetStatus() == http.StatusNoContent && r.GetBody() != "" {
		refuse("a response with status 204 has no body", "body")
	}
	if n := len(r.GetHeaders()); n > MaxResponseHeaders {
		refuse(fmt.Sprintf("there are %d headers, and at most %d are allowed", n, MaxResponseHeaders), "headers")
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(r.GetHeaders())) {
		switch canonical := strings.ToLower(name); {
		case !httpguts.ValidHeaderFieldName(name) || len(name) > maxHeaderName:
			refuse(fmt.Sprintf("a header has no such name, or it has more than %d bytes", maxHeaderName), "headers", name)
		case reserved(name):
			refuse("the server does not let a response set this header", "headers", name)
		case seen[canonical]:
			refuse("another header has this name in other letters", "headers", name)
		default:
			seen[canonical] = true
			if strings.ContainsAny(strings.TrimSpace(r.GetHeaders()[name]), "\r\n") {
				refuse("the template of a header is one line", "headers", name)
				continue
			}
			compile(r.GetHeaders()[name], MaxHeaderValue, "headers", name)
		}
	}
	compile(r.GetBody(), MaxResponseBody, "body")
	return invalid
}

// Respond renders the response of a webhook, which must have one. A response that fails is 204 with its error: the event is stored, so the
// sender must not retry. It charges memory as RenderFor. All templates of the response together have the time of one.
func (e *Engine) Respond(
	ctx context.Context, hook *orchv1.WebhookDefinition, v *Variables, memory *admission.Reservation,
) *orchv1.WebhookRenderedResponse {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	r := hook.GetResponse()
	out := &orchv1.WebhookRenderedResponse{Status: r.GetStatus(), Headers: make(map[string]string, len(r.GetHeaders()))}
	for _, name := range slices.Sorted(maps.Keys(r.GetHeaders())) {
		value, err := e.renderPart(ctx, hook, r.GetHeaders()[name], v, memory, MaxHeaderValue)
		if value = strings.TrimSpace(value); err == nil && !httpguts.ValidHeaderFieldValue(value) {
			err = fmt.Errorf("%w: the value has a line break or another control character", ErrResponse)
		}
		if err != nil {
			return FailedResponse(fmt.Errorf("header %s: %w", name, err))
		}
		if value != "" { // A header of the request that is echoed may be absent.
			out.Headers[name] = value
		}
	}
	var err error
	if out.Body, err = e.renderPart(ctx, hook, r.GetBody(), v, memory, MaxResponseBody); err != nil {
		return FailedResponse(fmt.Errorf("body: %w", err))
	}
	return out
}

// FailedResponse is the response whose rendering failed.
func FailedResponse(err error) *orchv1.WebhookRenderedResponse {
	return &orchv1.WebhookRenderedResponse{
		Status: http.StatusNoContent, Error: Problem(err, orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_RESPONSE),
	}
}

// renderPart renders a template of a response to at most limit bytes.
func (e *Engine) renderPart(
	ctx context.Context, hook *orchv1.WebhookDefinition, template string, v *Variables, memory *admission.Reservation, limit int,
) (string, error) {
	text, err := render(ctx, e.engineOf(hook), template, v, memory, ErrResponse)
	if err == nil && len(text) > limit {
		err = fmt.Errorf("%w: it has %d bytes, and at most %d are allowed", ErrResponse, len(text), limit)
	}
	return text, err
}
