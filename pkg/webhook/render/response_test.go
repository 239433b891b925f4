package render_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http/httpguts"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/render"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestResponsesAreChecked(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range render.MaxResponseHeaders + 1 {
		many["X-"+strings.Repeat("n", i+1)] = "v"
	}
	header := func(name, value string) *orchv1.WebhookResponse {
		return &orchv1.WebhookResponse{Status: 200, Headers: map[string]string{name: value}}
	}
	for name, c := range map[string]struct {
		response *orchv1.WebhookResponse
		path     string // Empty for a response that is accepted.
		message  string
	}{
		"none":                      {},
		"status alone":              {response: &orchv1.WebhookResponse{Status: 202}},
		"no content":                {response: &orchv1.WebhookResponse{Status: 204, Headers: map[string]string{"X-A": "b"}}},
		"body and headers":          {response: &orchv1.WebhookResponse{Status: 201, Headers: map[string]string{"Content-Type": "text/xml"}, Body: "<r>{{ body }}</r>"}},
		"value that ends a line":    {response: header("X-A", "{{ path }}\n")},
		"body of the largest size":  {response: &orchv1.WebhookResponse{Status: 200, Body: strings.Repeat("x", 16<<10)}},
		"status of a failure":       {&orchv1.WebhookResponse{Status: 500}, "status", "200, 201, 202 or 204"},
		"status of a redirection":   {&orchv1.WebhookResponse{Status: 302}, "status", "200, 201, 202 or 204"},
		"status 0":                  {&orchv1.WebhookResponse{}, "status", "200, 201, 202 or 204"},
		"body of 204":               {&orchv1.WebhookResponse{Status: 204, Body: "x"}, "body", "no body"},
		"body that does not parse":  {&orchv1.WebhookResponse{Status: 200, Body: "a\n{{ b"}, "body", "syntax error at line 2"},
		"body of 16,385 bytes":      {&orchv1.WebhookResponse{Status: 200, Body: strings.Repeat("x", 16<<10+1)}, "body", "16385 bytes"},
		"value that does not parse": {header("X-A", "{% if %}"), "headers.X-A", "syntax error at line 1"},
		"value of 1,025 bytes":      {header("X-A", strings.Repeat("x", 1025)), "headers.X-A", "1025 bytes"},
		"value of two lines":        {header("X-A", "a\nb"), "headers.X-A", "one line"},
		"11 headers":                {&orchv1.WebhookResponse{Status: 200, Headers: many}, "headers", "at most 10"},
		"name with a blank":         {header("X A", ""), "headers.X A", "no such name"},
		"name with a line break":    {header("X-A\r\nX-B", ""), "headers.X-A\r\nX-B", "no such name"},
		"empty name":                {header("", ""), "headers.", "no such name"},
		"name of 101 bytes":         {header(strings.Repeat("n", 101), ""), "headers." + strings.Repeat("n", 101), "100 bytes"},
		"name in other letters": {
			&orchv1.WebhookResponse{Status: 200, Headers: map[string]string{"X-A": "", "x-a": ""}}, "headers.x-a", "other letters",
		},
		"cookie":            {header("Set-Cookie", "a=b"), "headers.Set-Cookie", "does not let"},
		"length":            {header("content-length", "1"), "headers.content-length", "does not let"},
		"transfer encoding": {header("Transfer-Encoding", "chunked"), "headers.Transfer-Encoding", "does not let"},
		"origin":            {header("Access-Control-Allow-Origin", "*"), "headers.Access-Control-Allow-Origin", "does not let"},
		"policy":            {header("Content-Security-Policy", ""), "headers.Content-Security-Policy", "does not let"},
		"redirection":       {header("Location", "https://example.com"), "headers.Location", "does not let"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := newEngine(vocabulary.Orch).CheckResponse(c.response)
			if c.path == "" {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Equal(t, c.path, strings.Join(got[0].Path, "."))
			require.Contains(t, got[0].Message, c.message)
			require.Equal(t, strings.Contains(c.message, "syntax"), got[0].Syntax)
		})
	}
}

func TestResponsesAreRendered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		headers map[string]string
		body    string
		strict  bool
		want    *orchv1.WebhookRenderedResponse // Nil for an error.
		message string
		line    int64
	}{
		"nothing": {want: &orchv1.WebhookRenderedResponse{}},
		"variables": {
			headers: map[string]string{"X-Action": "{{ body.action }}", "X-Method": " {{ method }}\n", "X-None": "{{ headers['x-none'] }}"},
			body:    `{"text": {{ body.repository.full_name | tojson }}, "env": "{{ query.env }}"}`,
			want: &orchv1.WebhookRenderedResponse{
				Headers: map[string]string{"X-Action": "opened", "X-Method": "POST"}, Body: `{"text": "acme/shop", "env": "prod"}`,
			},
		},
		"credential":          {body: "{{ headers.authorization }}", want: &orchv1.WebhookRenderedResponse{}},
		"failure":             {body: "a\n{{ body.number > 'x' }}", message: "body: ", line: 2},
		"failure of a header": {headers: map[string]string{"X-A": "{{ 1 / 0 }}"}, message: "header X-A: ", line: 1},
		"missing value":       {body: "{{ body.zen }}", strict: true, message: "body: ", line: 1},
		"large body":          {body: "{{ 'x' * 16385 }}", message: "body: response cannot be rendered: it has 16385 bytes"},
		"large header":        {headers: map[string]string{"X-A": "{{ 'x' * 1025 }}"}, message: "header X-A: response cannot be rendered: it has 1025 bytes"},
		"line break":          {headers: map[string]string{"X-A": "{{ 'a\\r\\nSet-Cookie: b' }}"}, message: "line break"},
		"budget":              {body: "{{ 'x' * 1000000000 }}", message: "budget", line: 1},
		"stored syntax error": {body: "{{", message: "syntax error", line: 1}, // By a newer server.
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := readRequest(t, []byte(pullRequest))
			receive.Sort(r.Header)
			hook := &orchv1.WebhookDefinition{Response: &orchv1.WebhookResponse{Status: 201, Headers: c.headers, Body: c.body}}
			r.Query = "env=prod"
			if c.strict {
				hook.Undefined = orchv1.WebhookUndefined_WEBHOOK_UNDEFINED_STRICT.Enum()
			}
			got := newEngine(vocabulary.Orch).Respond(t.Context(), hook, render.NewVariables(r, r.Body()), nil)
			if c.want != nil {
				require.Nil(t, got.GetError())
				require.EqualValues(t, http.StatusCreated, got.GetStatus())
				require.Equal(t, c.want.GetBody(), got.GetBody())
				require.Len(t, got.GetHeaders(), len(c.want.GetHeaders()))
				for name, value := range c.want.GetHeaders() {
					require.Equal(t, value, got.GetHeaders()[name], name)
				}
				return
			}
			require.EqualValues(t, http.StatusNoContent, got.GetStatus())
			require.Empty(t, got.GetHeaders())
			require.Empty(t, got.GetBody())
			require.Contains(t, got.GetError().GetMessage(), c.message)
			require.Equal(t, c.line, got.GetError().GetLine())
			require.Equal(t, orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_RESPONSE, got.GetError().GetStage())
		})
	}
}

// All templates of a response share the time of one, so a response with many slow headers is not slower than one slow template.
func TestAResponseHasTheTimeOfOneTemplate(t *testing.T) {
	t.Parallel()
	const slow = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
	e := render.New(render.Options{Budget: jinja.Budget{Timeout: time.Nanosecond}})
	r := readRequest(t, []byte(pullRequest))
	hook := &orchv1.WebhookDefinition{Response: &orchv1.WebhookResponse{Status: 200, Headers: map[string]string{"X-A": slow}, Body: slow}}
	got := e.Respond(t.Context(), hook, render.NewVariables(r, r.Body()), nil)
	require.Contains(t, got.GetError().GetMessage(), "time limit")
}

// Whatever a request has, a response that is no error is within its bounds, and its headers are valid.
func TestResponsesStayWithinTheirBounds(t *testing.T) {
	t.Parallel()
	e := newEngine(vocabulary.Orch)
	hook := &orchv1.WebhookDefinition{Response: &orchv1.WebhookResponse{
		Status: 200, Headers: map[string]string{"X-Echo": "{{ headers['x-echo'] }}", "X-Body": "{{ body }}"}, Body: "{{ body }}{{ body }}",
	}}
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.SliceOfN(rapid.Just(byte('x')), 500, 9000)).Draw(t, "body")
		r := &receive.Request{
			Method: http.MethodPost, Raw: raw, Wire: raw, Header: []receive.Field{{Name: "x-echo", Value: rapid.String().Draw(t, "header")}},
		}
		got := e.Respond(t.Context(), hook, render.NewVariables(r, r.Body()), nil)
		if got.GetError() != nil {
			require.EqualValues(t, http.StatusNoContent, got.GetStatus())
			require.Empty(t, got.GetHeaders())
			require.Empty(t, got.GetBody())
			return
		}
		require.LessOrEqual(t, len(got.GetBody()), render.MaxResponseBody)
		for _, value := range got.GetHeaders() {
			require.LessOrEqual(t, len(value), render.MaxHeaderValue)
			require.True(t, httpguts.ValidHeaderFieldValue(value))
		}
	})
}
