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
	// segments are by first path segment. What mux makes of a path takes some 15 KB, and most servers are asked for few of them,
	// so the routes of a segment are made when it is first asked for.
	segments map[string]func() *mux.Router
	methods  []string // All that any operation has, sorted.
}

// match is what was found: an operation with its path variables still escaped, or the methods that the path allows,
// or nothing.
type match struct {
	op    *Operation
	vars  map[string]string
	allow []string
}

func newRouter(ops []*Operation) (*router, error) {
	rt := &router{segments: map[string]func() *mux.Router{}}
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
		rt.segments[first] = sync.OnceValue(func() *mux.Router { return routes(ops) })
	}
	slices.Sort(rt.methods)
	return rt, nil
}

// routes makes the routes of one first segment. Their paths were checked with the operations.
func routes(ops []*Operation) *mux.Router {
	// Variables are taken from the escaped path, so that a value may hold a slash.
	m := mux.NewRouter().UseEncodedPath().SkipClean(true)
	for _, op := range ops {
		// The path before the method: the other way round mux forgets that a path was known with another method.
		route := m.Path(routeOf(op.segments)).Methods(op.Method).Handler(target{op})
		if err := route.GetError(); err != nil {
			panic(fmt.Sprintf("transcode: route %s of %s: %v", routeOf(op.segments), op.RPC, err))
		}
	}
	return m
}

// target lets mux carry an operation; the transcoder serves it.
type target struct{ *Operation }

// ServeHTTP is never called: routes are matched, not served, by mux.
func (target) ServeHTTP(http.ResponseWriter, *http.Request) {}

// find matches a path without prefix; one trailing slash is as good as none.
func (rt *router) find(method string, u *url.URL) match {
	path := *u
	path.Path = strings.TrimSuffix(path.Path, "/")
	path.RawPath = strings.TrimSuffix(path.RawPath, "/")
	segment := rt.segments[firstSegment(path.Path)]
	if segment == nil {
		return match{}
	}
	m := segment()
	if method == http.MethodHead {
		method = http.MethodGet
	}
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

// allowed lists the methods of a path.
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
