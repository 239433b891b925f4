package address

import (
	"net/url"
	"strings"

	"github.com/google/uuid"
)

// WorkspacePath is a parsed API path.
type WorkspacePath struct {
	// Prefix is the API prefix as the client wrote it: "/api" or "/api/v1", optionally followed by
	// "/accounts/{account_id}/workspaces/{workspace_id}".
	Prefix string
	// Account and Workspace come from the hosted form of the path, else they are uuid.Nil.
	Account, Workspace uuid.UUID
	// URL is the rest of the path, with the query.
	URL *url.URL
}

// Split separates the API prefix from the URL of a request. It returns false for a path outside the API and for
// malformed ids.
func Split(u *url.URL) (WorkspacePath, bool) {
	// An escaped slash separates nothing, so Split works on the escaped path.
	path := u.RawPath
	if path == "" {
		path = u.Path
	}
	rest, ok := cutSegment(path, "api")
	if !ok {
		return WorkspacePath{}, false
	}
	// Another version is not a prefix: it belongs to an operation such as /v2/concurrency_limits.
	if after, ok := cutSegment(rest, "v1"); ok {
		rest = after
	}
	parsed := WorkspacePath{}
	if account, workspace, after, found := hosted(rest); found {
		var errA, errW error
		parsed.Account, errA = uuid.Parse(account)
		parsed.Workspace, errW = uuid.Parse(workspace)
		if errA != nil || errW != nil {
			return WorkspacePath{}, false
		}
		rest = after
	}
	parsed.Prefix = path[:len(path)-len(rest)]
	stripped := *u
	stripped.Path, stripped.RawPath = rest, ""
	if u.RawPath != "" {
		plain, err := url.PathUnescape(rest)
		if err != nil {
			return WorkspacePath{}, false
		}
		stripped.Path, stripped.RawPath = plain, rest
	}
	parsed.URL = &stripped
	return parsed, true
}

// hosted parses a leading /accounts/{a}/workspaces/{w} that a further path follows.
func hosted(path string) (account, workspace, rest string, found bool) {
	if rest, found = cutSegment(path, "accounts"); !found {
		return "", "", "", false
	}
	account = segmentOf(rest)
	if rest, found = cutSegment(rest[min(len(rest), 1+len(account)):], "workspaces"); !found || account == "" {
		return "", "", "", false
	}
	workspace = segmentOf(rest)
	rest = rest[min(len(rest), 1+len(workspace)):]
	if workspace == "" || strings.Trim(rest, "/") == "" {
		return "", "", "", false
	}
	return account, workspace, rest, true
}

// segmentOf returns the first segment of a path that begins with a slash.
func segmentOf(path string) string {
	segment, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return segment
}

// cutSegment removes the first segment if it equals the given one.
func cutSegment(path, name string) (rest string, ok bool) {
	if !strings.HasPrefix(path, "/") || segmentOf(path) != name {
		return "", false
	}
	return path[1+len(name):], true
}
