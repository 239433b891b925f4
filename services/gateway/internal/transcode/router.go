package transcode

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gorilla/mux"
)

// router finds the operation of a request.
type router struct {
	segments map[string]*mux.Router
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
	rt := &router{segments: map[string]*mux.Router{}}
	sorted := slices.Clone(ops)
	slices.SortStableFunc(sorted, func(a, b *Operation) int { return compareSegments(a.segments, b.segments) })
	seen := map[string]string{}
	for _, op := range sorted {
		key := op.Method + " " + routeOf(op.segments)
		if other, ok := seen[key]; ok {
			return nil, fmt.Errorf("route %s: both %s and %s want it", key, other, op.RPC)
		}
		seen[key] = op.RPC
		first := op.segments[0].literal
		m := rt.segments[first]
		if m == nil {
			// Variables are taken from the escaped path, so that a value may hold a slash.
			m = mux.NewRouter().UseEncodedPath().SkipClean(true)
			rt.segments[first] = m
		}
		// The path before the method: the other way round mux forgets that a path was known with another method.
		route := m.Path(routeOf(op.segments)).Methods(op.Method).Handler(target{op})
		if err := route.GetError(); err != nil {
			return nil, fmt.Errorf("route %s: %w", key, err)
		}
		if !slices.Contains(rt.methods, op.Method) {
			rt.methods = append(rt.methods, op.Method)
		}
	}
	slices.Sort(rt.methods)
	return rt, nil
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
	m := rt.segments[firstSegment(path.Path)]
	if m == nil {
		return match{}
	}
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
