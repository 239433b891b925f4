package address

import (
	"net/url"
	"strings"

	"github.com/google/uuid"
)

// Place is a path of the API, taken apart.
type Place struct {
	// Prefix is what stood before the path as the client wrote it: "/api", "/api/v1", or either with
	// "/accounts/{account_id}/workspaces/{workspace_id}".
	Prefix string
	// Account and Workspace are those of the hosted form, else uuid.Nil.
	Account, Workspace uuid.UUID
	// URL is the rest of the path, with the query.
	URL *url.URL
}

// Split takes the prefix from the URL of a request for the API. It returns false when the path is none of the API's,
// or its ids are none.
func Split(u *url.URL) (Place, bool) {
	// Slashes that are escaped part nothing, so the escaped form is what counts.
	path := u.RawPath
	if path == "" {
		path = u.Path
	}
	rest, ok := cutSegment(path, "api")
	if !ok {
		return Place{}, false
	}
	// Another version is no prefix: it is the path of an operation, such as /v2/concurrency_limits, or of nothing.
	if after, ok := cutSegment(rest, "v1"); ok {
		rest = after
	}
	place := Place{}
	if account, workspace, after, found := hosted(rest); found {
		var errA, errW error
		place.Account, errA = uuid.Parse(account)
		place.Workspace, errW = uuid.Parse(workspace)
		if errA != nil || errW != nil {
			return Place{}, false
		}
		rest = after
	}
	place.Prefix = path[:len(path)-len(rest)]
	stripped := *u
	stripped.Path, stripped.RawPath = rest, ""
	if u.RawPath != "" {
		plain, err := url.PathUnescape(rest)
		if err != nil {
			return Place{}, false
		}
		stripped.Path, stripped.RawPath = plain, rest
	}
	place.URL = &stripped
	return place, true
}

// hosted finds /accounts/{a}/workspaces/{w} before a further path.
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

// cutSegment takes the first segment away when it is the one named.
func cutSegment(path, name string) (rest string, ok bool) {
	if !strings.HasPrefix(path, "/") || segmentOf(path) != name {
		return "", false
	}
	return path[1+len(name):], true
}
