package render_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/render"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// pullRequest is a request of GitHub.
const pullRequest = `POST /hooks/x/repo?env=prod HTTP/1.1
Host: x
Content-Type: application/json
X-GitHub-Event: pull_request
Authorization: Bearer secret

{"action": "opened", "number": 7, "pull_request": {"draft": false, "labels": [{"name": "bug"}, {"name": "ui"}]}, "repository": {"full_name": "acme/shop"}}
`

func TestFilters(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]any{
		`body.action == "opened"`: true,
		`headers["x-github-event"] == "pull_request" and body.action in ["opened", "reopened"]`: true,
		`headers["X-GitHub-Event"] == "ping"`:                                                   false,
		`"bug" in body.pull_request.labels | map(attribute="name")`:                             true,
		`body.pull_request.labels | selectattr("name", "eq", "security") | list`:                false,
		`not body.pull_request.draft`:                                                           true,
		`body.number > 5 and body.number is odd`:                                                true,
		`body.zen`:                                                                              false,
		`body.zen is not defined`:                                                               true,
		`method == "POST"`:                                                                      true,
		`query.env == "prod"`:                                                                   true,
		`path.endswith("/repo")`:                                                                false, // receive.New sets the path of the request.
		`headers.authorization is defined`:                                                      false,
		`body.repository.full_name.split("/")[0] == "acme"`:                                     true,
		"body.action\n  == 'opened'":                                                            true,
		`true`:                                                                                  true,
		`none`:                                                                                  false,

		"body.number\n  > 'x'": "filter, line 1, column 1: runtime error: TypeError",
		"1 ==\n 1 / 0":         "filter, line 2, column 4: runtime error: ZeroDivisionError",
		`body.zen > 1`:         "filter, line 1, column 1: ",
		`body.action ==`:       "filter, line 1, column 15: syntax error",
		`{{ body.action }}`:    "filter, line 1, column 1: syntax error: An expression has no delimiters",
		`"x" * 1000000000`:     "filter, line 1, column 5: budget error",
		`range(100000) | sum > 1 and range(100000) | map("string") | map("length") | map("string") | map("length") | map("string") | map("length") | map("string") | map("length") | map("string") | map("length") | map("string") | map("length") | sum > 1`: "budget error",
	} {
		t.Run(filter, func(t *testing.T) {
			t.Parallel()
			e, r := newEngine(vocabulary.Orch), readRequest(t, []byte(pullRequest))
			got, err := e.Match(t.Context(), &orchv1.WebhookDefinition{Filter: &filter}, render.NewVariables(r, r.Body()), nil)
			text, fails := want.(string)
			if !fails {
				require.NoError(t, err)
				require.Equal(t, want, got)
				return
			}
			require.ErrorIs(t, err, render.ErrFilter)
			require.ErrorContains(t, err, text)
			require.False(t, got)
			line, _, ok := render.Place(err)
			require.True(t, ok)
			require.Positive(t, line)
			require.NotContains(t, render.Message(err), "line ")
		})
	}
}

func TestAWebhookWithoutAFilterMatchesEveryRequest(t *testing.T) {
	t.Parallel()
	r := readRequest(t, []byte(pullRequest))
	got, err := newEngine(vocabulary.Orch).Match(t.Context(), &orchv1.WebhookDefinition{}, render.NewVariables(r, r.Body()), nil)
	require.NoError(t, err)
	require.True(t, got)
}

func TestAStrictWebhookHasAStrictFilter(t *testing.T) {
	t.Parallel()
	r := readRequest(t, []byte(pullRequest))
	hook := &orchv1.WebhookDefinition{Filter: proto.String("body.zen"), Undefined: orchv1.WebhookUndefined_WEBHOOK_UNDEFINED_STRICT.Enum()}
	_, err := newEngine(vocabulary.Orch).Match(t.Context(), hook, render.NewVariables(r, r.Body()), nil)
	require.ErrorIs(t, err, render.ErrFilter)
	require.ErrorContains(t, err, "body has no zen")
}

// TestAFilterEndsWithItsTime, and its failure is one of the budget.
func TestAFilterEndsWithItsTime(t *testing.T) {
	t.Parallel()
	r := readRequest(t, []byte(pullRequest))
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	e := render.New(render.Options{Budget: jinja.Budget{Steps: -1}})
	hook := &orchv1.WebhookDefinition{Filter: proto.String(`range(100000) | map("string") | list | length > 1`)}
	_, err := e.Match(ctx, hook, render.NewVariables(r, r.Body()), nil)
	require.ErrorIs(t, err, render.ErrFilter)
	require.ErrorContains(t, err, "budget error")
}

// BenchmarkMatch measures the decision of a filter over the payload of a push, its 99th percentile included. The first one of a request
// creates the variables that the filter shares with the template.
func BenchmarkMatch(b *testing.B) {
	body := `{"action": "opened", "number": 7, "repository": {"full_name": "acme/shop"}, "labels": [{"name": "bug"}], "text": "` + strings.Repeat("x", 700) + `"}`
	for name, filter := range map[string]string{
		"equal":  `headers["x-github-event"] == "pull_request" and body.action in ("opened", "reopened")`,
		"labels": `"bug" in body.labels | map(attribute="name") and body.repository.full_name.startswith("acme/")`,
		"never":  `body.action == "closed"`,
	} {
		for _, first := range []bool{true, false} {
			b.Run(name+map[bool]string{true: "/first", false: "/shared"}[first], func(b *testing.B) {
				e := newEngine(vocabulary.Orch)
				r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/hooks/slug", strings.NewReader(body))
				r.Header.Set("X-Github-Event", "pull_request")
				request := receive.New(r, "slug", "", at)
				require.NoError(b, request.ReadBody(r, 5<<20, nil))
				hook := &orchv1.WebhookDefinition{Filter: &filter}
				variables := render.NewVariables(request, request.Body())
				took := make([]time.Duration, 0, b.N)
				b.ReportAllocs()
				for b.Loop() {
					if first {
						variables = render.NewVariables(request, request.Body())
					}
					start := time.Now()
					_, err := e.Match(b.Context(), hook, variables, nil)
					took = append(took, time.Since(start))
					if err != nil {
						b.Fatal(err)
					}
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
			})
		}
	}
}
