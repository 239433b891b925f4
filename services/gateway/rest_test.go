package gateway_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway"
)

const (
	notFound   = `{"detail":"Not Found"}`
	notAllowed = `{"detail":"Method Not Allowed"}`
	wantFlow   = `{"id":"` + flowID + `","created":"2023-11-14T22:13:20Z","updated":"2023-11-14T22:13:20Z","name":"%s","tags":[],"labels":null}`
)

func flowJSON(name string) string { return strings.Replace(wantFlow, "%s", name, 1) }

func TestAnswers(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	for name, test := range map[string]struct {
		method, path, body string
		status             int
		want               string
	}{
		"health":               {"GET", "/api/health", "", 200, `true`},
		"ready":                {"GET", "/api/ready", "", 200, `{"message":"OK"}`},
		"version":              {"GET", "/api/version", "", 200, `"` + vocabulary.APIVersion + `"`},
		"admin version":        {"GET", "/api/admin/version", "", 200, `"1.2.3"`},
		"hello":                {"GET", "/api/hello", "", 200, `"👋"`},
		"csrf token":           {"GET", "/api/csrf-token?client=x", "", 422, `{"detail":"CSRF protection is disabled."}`},
		"create chooses 201":   {"POST", "/api/flows/", `{"name":"a"}`, 201, flowJSON("a")},
		"read":                 {"GET", "/api/flows/" + flowID, "", 200, flowJSON("read")},
		"read, UUID unhyphen":  {"GET", "/api/flows/" + strings.ReplaceAll(flowID, "-", ""), "", 200, flowJSON("read")},
		"escaped name":         {"GET", "/api/flows/name/a%2Fb%20c", "", 200, flowJSON("a/b c")},
		"name not UTF-8":       {"GET", "/api/flows/name/%FF", "", 200, flowJSON("\uFFFD")},
		"literal before a var": {"POST", "/api/flows/filter", `{"limit":1}`, 200, `[` + flowJSON("one of many") + `]`},
		"optional body":        {"POST", "/api/flows/count", "", 200, `7`},
		"update":               {"PATCH", "/api/flows/" + flowID, `{"tags":["x"]}`, 204, ``},
		"delete, body ignored": {"DELETE", "/api/flows/" + flowID, `{"nonsense`, 204, ``},
		"get, body ignored":    {"GET", "/api/flows/" + flowID, `{"nonsense`, 200, flowJSON("read")},
		"query":                {"GET", "/api/webhooks/?name=x&limit=3&unknown=1", "", 200, `[]`},

		"slash or none, 1":  {"POST", "/api/flows", `{"name":"a"}`, 201, flowJSON("a")},
		"slash or none, 2":  {"GET", "/api/flows/" + flowID + "/", "", 200, flowJSON("read")},
		"slash or none, 3":  {"GET", "/api/health/", "", 200, `true`},
		"two slashes":       {"POST", "/api/flows//", `{"name":"a"}`, 404, notFound},
		"v1":                {"GET", "/api/v1/health", "", 200, `true`},
		"v2":                {"GET", "/api/v2/health", "", 404, notFound},
		"v":                 {"GET", "/api/v/health", "", 404, notFound},
		"v1 twice":          {"GET", "/api/v1/v1/health", "", 404, notFound},
		"api":               {"GET", "/api", "", 404, notFound},
		"hosted":            {"GET", "/api/accounts/00000000-0000-8000-8000-00000000000a/workspaces/00000000-0000-8000-8000-000000000001/health", "", 200, `true`},
		"hosted v1":         {"GET", "/api/v1/accounts/00000000-0000-8000-8000-00000000000A/workspaces/00000000-0000-8000-8000-000000000001/health/", "", 200, `true`},
		"hosted elsewhere":  {"GET", "/api/accounts/00000000-0000-8000-8000-00000000000a/workspaces/00000000-0000-8000-8000-000000000002/health", "", 404, notFound},
		"hosted, no id":     {"GET", "/api/accounts/x/workspaces/y/health", "", 404, notFound},
		"hosted, cut short": {"GET", "/api/accounts/00000000-0000-8000-8000-00000000000a/workspaces", "", 405, notAllowed},

		"unknown path":    {"GET", "/api/nowhere", "", 404, notFound},
		"outside":         {"GET", "/apix/health", "", 404, notFound},
		"bad UUID":        {"GET", "/api/flows/no-uuid", "", 404, notFound},
		"other method":    {"PUT", "/api/flow_runs/" + flowID, "", 405, notAllowed},
		"literal's other": {"GET", "/api/flows/filter", "", 405, notAllowed},
		"strange method":  {"BREW", "/api/health", "", 405, notAllowed},
		"options":         {"OPTIONS", "/api/health", "", 405, notAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.do(t, test.method, test.path, test.body)
			require.Equal(t, test.status, got.status, got.body)
			require.Equal(t, test.want, got.body)
			if test.want != "" {
				require.Equal(t, "application/json", got.header.Get("Content-Type"))
			}
			require.NotEmpty(t, got.header.Get("X-Request-Id"))
		})
	}
}

func TestAllowNamesTheMethods(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	require.Equal(t, "DELETE, GET, HEAD, PATCH", s.do(t, "PUT", "/api/flow_runs/"+flowID, "").header.Get("Allow"))
	require.Equal(t, "POST", s.do(t, "GET", "/api/flows/filter", "").header.Get("Allow"))
}

func TestHeadIsGetWithoutBody(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	got := s.do(t, "HEAD", "/api/flows/"+flowID, "")
	require.Equal(t, 200, got.status)
	require.Empty(t, got.body)
	require.NotEqual(t, "0", got.header.Get("Content-Length"))
}

func TestHandlersSetHeaders(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	require.Equal(t, "test", s.do(t, "POST", "/api/flows/", `{"name":"a"}`).header.Get("X-Made-By"))
}

// TestBadInput walks everything that a client can do wrong: a status, and the places of the field errors.
func TestBadInput(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	deep := strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500)
	for name, test := range map[string]struct {
		method, path, body, contentType string
		status                          int
		fieldErrors                     []string // type and place, one a field error.
	}{
		"malformed":              {"POST", "/api/flows/", `{"name":`, "", 422, []string{"json_invalid body 8"}},
		"trailing":               {"POST", "/api/flows/", `{"name":"a"} x`, "", 422, []string{"json_invalid body 13"}},
		"wrong type":             {"POST", "/api/flows/", `{"name":1}`, "", 422, []string{"string_type body name"}},
		"unknown field":          {"POST", "/api/flows/", `{"name":"a","url":"b"}`, "", 422, []string{"extra_forbidden body url"}},
		"duplicate":              {"POST", "/api/flows/", `{"name":"a","name":"b"}`, "", 422, []string{"duplicate_key body name"}},
		"not UTF-8":              {"POST", "/api/flows/", "{\"name\":\"\xff\"}", "", 422, nil},
		"too deep":               {"POST", "/api/flows/", `{"name":` + deep + `}`, "", 422, nil},
		"missing key":            {"POST", "/api/flows/", `{}`, "", 422, []string{"missing body name"}},
		"missing body":           {"POST", "/api/flows/", ``, "", 422, []string{"missing body"}},
		"null body":              {"POST", "/api/flows/", `null`, "", 422, []string{"missing body"}},
		"list for object":        {"POST", "/api/flows/", `[]`, "", 422, nil},
		"several":                {"POST", "/api/flows/", `{"tags":3,"x":1}`, "", 422, []string{"list_type body tags", "extra_forbidden body x", "missing body name"}},
		"pattern":                {"POST", "/api/flows/", `{"name":"a/b"}`, "", 422, []string{"string_pattern_mismatch body name"}},
		"negative offset":        {"POST", "/api/flows/filter", `{"offset":-1}`, "", 422, []string{"greater_than_equal body offset"}},
		"unknown sort":           {"POST", "/api/flows/filter", `{"sort":"UP"}`, "", 422, []string{"enum body sort"}},
		"query type":             {"GET", "/api/webhooks/?offset=x", ``, "", 422, []string{"int_parsing query offset"}},
		"query bound":            {"GET", "/api/webhooks/?offset=-1", ``, "", 422, []string{"greater_than_equal query offset"}},
		"query missing":          {"GET", "/api/events/filter/next", ``, "", 422, []string{"missing query page-token"}},
		"path enum":              {"POST", "/api/events/count-by/planet", `{"filter":{}}`, "", 422, []string{"enum path countable"}},
		"path and body":          {"POST", "/api/events/count-by/planet", `{}`, "", 422, []string{"enum path countable", "missing body filter"}},
		"form":                   {"POST", "/api/flows/", `name=a`, "application/x-www-form-urlencoded", 422, []string{"model_attributes_type body"}},
		"text":                   {"POST", "/api/flows/", `{"name":"a"}`, "text/plain", 422, []string{"model_attributes_type body"}},
		"charset":                {"POST", "/api/flows/", `{"name":"a"}`, "application/json; charset=utf-8", 201, nil},
		"vendor JSON":            {"POST", "/api/flows/", `{"name":"a"}`, "application/vnd.x+json", 201, nil},
		"empty text is no body":  {"POST", "/api/flows/count", ``, "text/plain", 200, nil},
		"number out of any type": {"POST", "/api/flows/filter", `{"offset":1e999}`, "", 422, nil},
		"limit is the service's": {"POST", "/api/flows/filter", `{"limit":201}`, "", 422, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var headers []string
			if test.contentType != "" {
				headers = append(headers, "Content-Type: "+test.contentType)
			}
			got := s.do(t, test.method, test.path, test.body, headers...)
			require.Equal(t, test.status, got.status, got.body)
			require.True(t, json.Valid([]byte(got.body)), got.body)
			if test.fieldErrors == nil {
				return
			}
			var body struct {
				Message string `json:"exception_message"`
				Detail  []struct {
					Type string `json:"type"`
					Loc  []any  `json:"loc"`
				} `json:"exception_detail"`
			}
			require.NoError(t, json.Unmarshal([]byte(got.body), &body))
			require.Equal(t, "Invalid request received.", body.Message)
			var fieldErrors []string
			for _, d := range body.Detail {
				vocab := []string{d.Type}
				for _, step := range d.Loc {
					text, err := json.Marshal(step)
					require.NoError(t, err)
					vocab = append(vocab, strings.Trim(string(text), `"`))
				}
				fieldErrors = append(fieldErrors, strings.Join(vocab, " "))
			}
			require.Equal(t, test.fieldErrors, fieldErrors)
		})
	}
}

func TestA422EchoesTheBody(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	for sent, echoed := range map[string]string{
		`{"name": 1, "x": [1.50]}`: `{"name":1,"x":[1.50]}`,
		``:                         `null`,
		`{"name":`:                 `"{\"name\":"`,
	} {
		got := s.do(t, "POST", "/api/flows/", sent)
		require.Equal(t, 422, got.status)
		require.True(t, strings.HasSuffix(got.body, `,"request_body":`+echoed+`}`), got.body)
	}
}

func TestErrorsHaveTheirForms(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err    error
		status int
		want   string
		header map[string]string
	}{
		"detail":            {rpc.Detail(404, "Flow not found"), 404, `{"detail":"Flow not found"}`, nil},
		"exception message": {rpc.ExceptionMessage(404, "gone"), 404, `{"exception_message":"gone"}`, nil},
		"body and headers": {rpc.Error(&orchv1.HttpError{
			Status: 423, Form: &orchv1.HttpError_Body{Body: []byte(`{"a":1}`)}, Headers: map[string]string{"Retry-After": "0.5"},
		}), 423, `{"a":1}`, map[string]string{"Retry-After": "0.5"}},
		"conflict": {rpc.Detail(409, "Data integrity conflict."), 409, `{"detail":"Data integrity conflict."}`, nil},
		"field errors": {
			rpc.Invalid(rpc.BodyError("value_error", "no", "name")), 422,
			`{"exception_message":"Invalid request received.","exception_detail":[{"type":"value_error","loc":["body","name"],"msg":"no","ctx":{"error":{}}}],"request_body":{"name":"a"}}`, nil,
		},
		"no form":   {rpc.Error(&orchv1.HttpError{Status: 418}), 418, `{"exception_message":"I'm a teapot"}`, nil},
		"no status": {rpc.Error(&orchv1.HttpError{}), 500, `{"exception_message":""}`, nil},
		"unavailable": {
			status.Error(codes.Unavailable, "canary"), 503, `{"exception_message":"Service Unavailable"}`,
			map[string]string{"Retry-After": "1", vocabulary.MaintenanceHeader: "true"},
		},
		"too slow": {
			status.Error(codes.DeadlineExceeded, "canary"), 503, `{"exception_message":"Service Unavailable"}`,
			map[string]string{"Retry-After": "1", vocabulary.MaintenanceHeader: ""},
		},
		"internal": {status.Error(codes.Internal, "canary"), 500, `{"exception_message":"Internal Server Error"}`, nil},
		"unknown":  {io.ErrUnexpectedEOF, 500, `{"exception_message":"Internal Server Error"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, gateway.Deps{})
			s.domain.fail(test.err)
			got := s.do(t, "POST", "/api/flows/", `{"name":"a"}`)
			require.Equal(t, test.status, got.status)
			require.Equal(t, test.want, got.body)
			for key, value := range test.header {
				require.Equal(t, value, got.header.Get(key))
			}
		})
	}
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	const limit = 5 << 20
	// Spaces count for the body, and for no field.
	fill := func(n int) string {
		const flow = `{"name":"a"}`
		return flow + strings.Repeat(" ", n-len(flow))
	}
	require.Equal(t, 201, s.do(t, "POST", "/api/flows/", fill(limit)).status)
	require.Equal(t, 413, s.do(t, "POST", "/api/flows/", fill(limit+1)).status)

	t.Run("of unknown length", func(t *testing.T) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/flows/", io.MultiReader(strings.NewReader(fill(limit+1))))
		require.NoError(t, err)
		response, err := s.client.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, 413, response.StatusCode)
	})
	t.Run("inflated", func(t *testing.T) {
		require.Equal(t, 201, s.do(t, "POST", "/api/flows/", zipped(t, fill(limit)), "Content-Encoding: gzip").status)
		require.Equal(t, 413, s.do(t, "POST", "/api/flows/", zipped(t, fill(limit+1)), "Content-Encoding: gzip").status)
	})
	t.Run("of many values", func(t *testing.T) {
		flow := func(n int) string { return `{"name":"a","tags":[` + strings.Repeat(`"",`, n-4) + `""]}` }
		require.Equal(t, 422, s.do(t, "POST", "/api/flows/", flow(250_000)).status, "it is read: the tags are not distinct")
		got := s.do(t, "POST", "/api/flows/", flow(250_001))
		require.Equal(t, 413, got.status)
		require.Contains(t, got.body, "more than 250000 values")
		require.Equal(t, 413, s.do(t, "POST", "/api/flows/", zipped(t, flow(1_500_000)), "Content-Encoding: gzip").status)
	})
	t.Run("encodings", func(t *testing.T) {
		require.Equal(t, 201, s.do(t, "POST", "/api/flows/", fill(50), "Content-Encoding: identity").status)
		got := s.do(t, "POST", "/api/flows/", fill(50), "Content-Encoding: br")
		require.Equal(t, 415, got.status)
		require.Equal(t, "gzip", got.header.Get("Accept-Encoding"))
		require.Equal(t, 400, s.do(t, "POST", "/api/flows/", fill(50), "Content-Encoding: gzip").status)
		cut := zipped(t, fill(2000))
		require.Equal(t, 400, s.do(t, "POST", "/api/flows/", cut[:len(cut)-9], "Content-Encoding: gzip").status)
	})
}

func zipped(t testing.TB, text string) string {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, err := z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return buf.String()
}

func TestLongAnswersAreCompressedWhenAsked(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	const many, one = `{"limit":100}`, `{"limit":1}`
	plain := s.do(t, "POST", "/api/flows/filter", many)
	require.Empty(t, plain.header.Get("Content-Encoding"))
	require.Equal(t, "Accept-Encoding", plain.header.Get("Vary"))

	got := s.do(t, "POST", "/api/flows/filter", many, "Accept-Encoding: br;q=0.5, gzip")
	require.Equal(t, "gzip", got.header.Get("Content-Encoding"))
	z, err := gzip.NewReader(strings.NewReader(got.body))
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, plain.body, string(text))

	require.Empty(t, s.do(t, "POST", "/api/flows/filter", one, "Accept-Encoding: gzip").header.Get("Content-Encoding"))
	require.Empty(t, s.do(t, "POST", "/api/flows/filter", many, "Accept-Encoding: gzip;q=0").header.Get("Content-Encoding"))
}

func TestVersionHeader(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	for _, name := range vocabulary.VersionHeaders() {
		for value, want := range map[string]int{
			"0.8.4": 200, "0.8.0": 200, "0.9.0": 200, "1.0.0": 200, "0.7.9": 400, "0.8": 400, "x": 400, "0.8.x": 400, "0.8.4.1": 400,
		} {
			got := s.do(t, "GET", "/api/flows/"+flowID, "", name+": "+value)
			require.Equal(t, want, got.status, "%s: %s", name, value)
			require.Equal(t, 200, s.do(t, "GET", "/api/health", "", name+": "+value).status)
			require.Equal(t, 200, s.do(t, "GET", "/api/version", "", name+": "+value).status)
		}
		got := s.do(t, "GET", "/api/flows/"+flowID, "", name+": nonsense")
		require.Equal(t, `{"detail":"Invalid `+name+` header format.Expected header in format 'x.y.z' but received nonsense"}`, got.body)
	}
}
