package transcode

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/gorilla/mux"
)

// router finds the operation of a request.
type router struct {
	segments map[string]firstLevel // By the first path segment.
	methods  []string              // The methods of all operations, sorted.
}

// firstLevel has the routes of one first path segment.
type firstLevel struct {
	direct direct // Serves the requests that have an operation.
	// router decides about all others. A compiled route takes some 15 KB and most servers use few of them, so it is compiled on first use.
	router func() *mux.Router
}

// match is the result of routing: an operation with its escaped path variables, the methods that the path allows, or
// neither.
type match struct {
	op    *Operation
	vars  map[string]string
	allow []string
}

func newRouter(ops []*Operation) (*router, error) {
	rt := &router{segments: map[string]firstLevel{}}
	sorted := slices.Clone(ops)
	slices.SortStableFunc(sorted, func(a, b *Operation) int { return compareSegments(a.segments, b.segments) })
	seen := map[string]string{}
	bySegment := map[string][]*Operation{}
	for _, op := range sorted {
		key := op.Method + " " + routeOf(op.segments)
		if other, ok := seen[key]; ok {
			return nil, fmt.Errorf("route %s: both %s and %s want it", key, other, op.RPC)
		}
		seen[key] = op.RPC
		first := op.segments[0].literal
		bySegment[first] = append(bySegment[first], op)
		if !slices.Contains(rt.methods, op.Method) {
			rt.methods = append(rt.methods, op.Method)
		}
	}
	for first, ops := range bySegment {
		rt.segments[first] = firstLevel{direct: directRoutes(ops), router: sync.OnceValue(func() *mux.Router { return routes(ops) })}
	}
	slices.Sort(rt.methods)
	return rt, nil
}

// routes compiles the routes of one first segment. Their paths were validated with the operations.
func routes(ops []*Operation) *mux.Router {
	// Variables come from the escaped path, so a value may contain a slash.
	m := mux.NewRouter().UseEncodedPath().SkipClean(true)
	for _, op := range ops {
		// The path matcher comes before the method matcher: in the other order mux returns 404 instead of 405.
		route := m.Path(routeOf(op.segments)).Methods(op.Method).Handler(target{op})
		if err := route.GetError(); err != nil {
			panic(fmt.Sprintf("transcode: route %s of %s: %v", routeOf(op.segments), op.RPC, err))
		}
	}
	return m
}

// target carries an operation through mux; the transcoder serves it.
type target struct{ *Operation }

// ServeHTTP is never called, because mux only matches here.
func (target) ServeHTTP(http.ResponseWriter, *http.Request) {}

// find matches a path without prefix, with or without one trailing slash.
func (rt *router) find(method string, u *url.URL) match {
	path := trimmed(u)
	segment, exists := rt.segments[firstSegment(path.Path)]
	if !exists {
		return match{}
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if found, ok := segment.direct.find(method, path.EscapedPath()); ok {
		return found
	}
	return rt.matched(segment.router(), method, path)
}

// matched asks the router of a first segment. It also knows the methods that a path allows.
func (rt *router) matched(m *mux.Router, method string, path url.URL) match {
	request := http.Request{Method: method, URL: &path}
	var found mux.RouteMatch
	if m.Match(&request, &found) && found.MatchErr == nil {
		if t, ok := found.Handler.(target); ok {
			return match{op: t.Operation, vars: found.Vars}
		}
	}
	if !errors.Is(found.MatchErr, mux.ErrMethodMismatch) {
		return match{}
	}
	return match{allow: rt.allowed(m, &request)}
}

// allowed returns the methods that a path allows.
func (rt *router) allowed(m *mux.Router, request *http.Request) []string {
	var allow []string
	for _, method := range rt.methods {
		request.Method = method
		var found mux.RouteMatch
		if m.Match(request, &found) && found.MatchErr == nil {
			allow = append(allow, method)
			if method == http.MethodGet {
				allow = append(allow, http.MethodHead)
			}
		}
	}
	return allow
}

func firstSegment(path string) string {
	path = strings.TrimPrefix(path, "/")
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return path
}
