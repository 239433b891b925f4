package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/orch-project/orch/services/gateway"
)

// FuzzRequest sends any method, path, header and body: nothing that a client sends is the server's error, and every
// answer that says so is JSON.
func FuzzRequest(f *testing.F) {
	for _, seed := range []struct{ method, target, contentType, body string }{
		{"GET", "/api/health", "", ""},
		{"POST", "/api/flows/", "application/json", `{"name":"a","tags":["b"],"labels":{"c":1.5}}`},
		{"POST", "/api/v1/flows/filter?x=1", "", `{"flows":{"name":{"like_":"a"}},"limit":3,"offset":0,"sort":"NAME_ASC"}`},
		{"PATCH", "/api/flows/" + flowID, "", `{"tags":[]}`},
		{"GET", "/api/flows/name/%2F%FF", "", ""},
		{"GET", "/api" + hostedForm + "/webhooks/?limit=1&offset=2", "", ""},
		{"POST", "/api/events/count-by/day", "text/plain", `{"filter":{"occurred":{"since":"2020-01-01"}}}`},
		{"DELETE", "/api/flows/" + flowID + "/", "", "{"},
		{"GET", "/api/events/filter/next?page-token=x", "", ""},
	} {
		f.Add(seed.method, seed.target, seed.contentType, seed.body)
	}
	s := start(f, gateway.Deps{})
	f.Fuzz(func(t *testing.T, method, target, contentType, body string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(u.Path, "/api/") || strings.ContainsAny(method, " \r\n\t") || method == "" {
			t.Skip()
		}
		request, err := http.NewRequestWithContext(t.Context(), method, "http://localhost", strings.NewReader(body))
		if err != nil {
			t.Skip()
		}
		request.URL = u
		request.Host = "localhost"
		request.Header = http.Header{"Content-Type": {contentType}, "User-Agent": {contentType}}
		recorder := httptest.NewRecorder()
		s.Handler().ServeHTTP(recorder, request)
		got := recorder.Result()
		read, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		// 501: the test's domain has no such method.
		if got.StatusCode >= 500 && got.StatusCode != http.StatusNotImplemented {
			t.Fatalf("%s %s: %d %s", method, target, got.StatusCode, read)
		}
		if len(read) > 0 && got.Header.Get("Content-Type") == "application/json" && (!json.Valid(read) || !utf8.Valid(read)) {
			t.Fatalf("%s %s: no JSON: %q", method, target, read)
		}
	})
}
