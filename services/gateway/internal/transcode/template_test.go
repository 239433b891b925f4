package transcode

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestTemplatesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	input := (&orchv1.ReadFlowRequest{}).ProtoReflect().Descriptor()
	for _, path := range []string{"", "/", "flows", "/{id}", "/flows/{other}", "/flows/{id", "/flows/{id}x", "/flows:count", "/flows/{id=a/*}", "/flows/{id=**}/runs"} {
		_, err := parseTemplate(path, input)
		require.Error(t, err, path)
	}
}

// Routes are made when they are first asked for; all that the contract has can be.
func TestEveryRouteIsFound(t *testing.T) {
	t.Parallel()
	var services []protoreflect.ServiceDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage("orch.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			services = append(services, file.Services().Get(i))
		}
		return true
	})
	tc, err := New(Options{Services: services})
	require.NoError(t, err)
	require.Greater(t, len(tc.Operations()), 200)
	for _, op := range tc.Operations() {
		path := strings.NewReplacer("{", "", "}", "").Replace(op.Template)
		for _, s := range op.segments {
			if s.field != nil && restjson.Options(s.field).GetFormat() == orchv1.Format_FORMAT_UUID {
				path = strings.Replace(path, "/"+string(s.field.Name()), "/0f0f0f0f-0000-7000-8000-000000000000", 1)
			}
		}
		found := tc.router.find(op.Method, &url.URL{Path: path})
		require.NotNil(t, found.op, "%s %s", op.Method, path)
		require.Equal(t, op.RPC, found.op.RPC, "%s %s", op.Method, path)
	}
}

func TestMoreExactRoutesGoFirst(t *testing.T) {
	t.Parallel()
	byID := (&orchv1.ReadFlowRequest{}).ProtoReflect().Descriptor()
	byName := (&orchv1.ReadFlowByNameRequest{}).ProtoReflect().Descriptor()
	op := func(rpc, method, path string, named bool) *Operation {
		input := byID
		if named {
			input = byName
		}
		segments, err := parseTemplate(path, input)
		require.NoError(t, err)
		return &Operation{RPC: rpc, Method: method, Template: templateOf(segments), segments: segments}
	}
	rt, err := newRouter([]*Operation{
		op("rest", "GET", "/flows/{name=**}", true),
		op("name", "GET", "/flows/{name}", true),
		op("id", "GET", "/flows/{id}", false),
		op("filter", "POST", "/flows/filter", false),
		op("below", "GET", "/flows/{id}/runs", false),
		op("literal", "GET", "/flows/all", false),
	})
	require.NoError(t, err)
	const id = "01890000-0000-7000-8000-000000000001"
	for path, want := range map[string]string{
		"/flows/all":             "literal",
		"/flows/" + id:           "id",
		"/flows/" + id + "/":     "id",
		"/flows/filter":          "name", // Only POST has the literal.
		"/flows/x":               "name",
		"/flows/x%2Fy":           "name",
		"/flows/" + id + "/run":  "rest",
		"/flows/" + id + "/runs": "below",
	} {
		u, err := url.ParseRequestURI(path)
		require.NoError(t, err)
		found := rt.find(http.MethodGet, u)
		require.NotNil(t, found.op, path)
		require.Equal(t, want, found.op.RPC, path)
	}
	u := &url.URL{Path: "/flows/x"}
	require.Equal(t, []string{"GET", "HEAD"}, rt.find(http.MethodPut, u).allow)
	require.Equal(t, []string{"GET", "HEAD", "POST"}, rt.find(http.MethodPut, &url.URL{Path: "/flows/filter"}).allow)

	_, err = newRouter([]*Operation{op("one", "GET", "/flows/{id}", false), op("two", "GET", "/flows/{id}/", false)})
	require.ErrorContains(t, err, "both one and two")
}

func TestContentTypes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": true, " ": true, "application/json": true, "Application/JSON; charset=utf-8": true, "application/problem+json": true,
		"text/json": false, "application/jsonp": false, "application/x-www-form-urlencoded": false, "json": false, ";": false, "+json": false,
	} {
		require.Equal(t, want, isJSON(text), text)
	}
}

func TestAcceptsGzip(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "deflate, gzip;q=0.1": true, "*": true, "gzip;q=0": false, "gzip; q=0.0": false,
		"br": false, "xgzip": false, "gzip;q=nonsense": true,
	} {
		require.Equal(t, want, AcceptsGzip(http.Header{"Accept-Encoding": {text}}), text)
	}
}
