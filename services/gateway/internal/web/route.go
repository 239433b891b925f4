package web

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// routes finds the page of a path. There are few dozen pages, so it is a list by the number of segments.
type routes struct{ bySegments map[int][]route }

type route struct {
	page     *page.Page
	segments []string
}

func newRoutes(pages []page.Page) (*routes, error) {
	rt := &routes{bySegments: map[int][]route{}}
	seen := map[string]bool{}
	for i := range pages {
		p := &pages[i]
		if seen[p.Pattern] {
			return nil, fmt.Errorf("page %s: the pattern is not unique", p.Pattern)
		}
		if (p.Show == nil) == (p.Serve == nil) {
			return nil, fmt.Errorf("page %s: set exactly one of Show and Serve", p.Pattern)
		}
		seen[p.Pattern] = true
		segments := split(p.Pattern)
		rt.bySegments[len(segments)] = append(rt.bySegments[len(segments)], route{p, segments})
	}
	return rt, nil
}

// split returns the segments of a path, none for "/".
func split(path string) []string {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// find returns the page of an escaped path and its variables, nil without one. Literal segments win over variables.
func (rt *routes) find(path string) (*page.Page, map[string]string) {
	segments := split(path)
	var best *page.Page
	var bestVars map[string]string
	for _, candidate := range rt.bySegments[len(segments)] {
		vars, ok := candidate.match(segments)
		if ok && (best == nil || len(vars) < len(bestVars)) {
			best, bestVars = candidate.page, vars
		}
	}
	return best, bestVars
}

func (rt route) match(segments []string) (map[string]string, bool) {
	vars := map[string]string{}
	for i, pattern := range rt.segments {
		name, variable := strings.CutPrefix(pattern, "{")
		if !variable {
			if pattern != segments[i] {
				return nil, false
			}
			continue
		}
		name = strings.TrimSuffix(name, "}")
		value, err := url.PathUnescape(segments[i])
		if err != nil || value == "" {
			return nil, false
		}
		if strings.HasSuffix(name, "id") {
			id, err := uuid.Parse(value)
			if err != nil || len(value) != 36 {
				return nil, false
			}
			value = id.String()
		}
		vars[name] = value
	}
	return vars, true
}

// workspacePath is the account and workspace that a path names; nil UUIDs mean none.
type workspacePath struct{ account, workspace uuid.UUID }

// prefix returns the part of the path that names the workspace.
func (p workspacePath) prefix() string {
	if p.account == uuid.Nil {
		return ""
	}
	return "/account/" + p.account.String() + "/workspace/" + p.workspace.String()
}

// splitWorkspacePath separates "/account/{id}/workspace/{id}" from an escaped path.
func splitWorkspacePath(path string) (p workspacePath, rest string) {
	segments := strings.SplitN(path, "/", 6)
	if len(segments) < 5 || segments[1] != "account" || segments[3] != "workspace" {
		return workspacePath{}, path
	}
	account, errA := uuid.Parse(segments[2])
	workspace, errW := uuid.Parse(segments[4])
	if errA != nil || errW != nil {
		return workspacePath{}, path
	}
	rest = "/"
	if len(segments) == 6 {
		rest += segments[5]
	}
	return workspacePath{account, workspace}, rest
}
