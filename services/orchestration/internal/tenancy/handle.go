package tenancy

import (
	"regexp"
	"strings"
)

var notOfHandles = regexp.MustCompile(`[^a-z0-9]+`)

// maxHandle is the maximum length of a handle in the contract; names may be longer.
const maxHandle = 100

// Handle derives a handle from a name: "My first workspace" becomes my-first-workspace.
func Handle(name string) string {
	handle := strings.Trim(notOfHandles.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if handle == "" {
		return "unnamed"
	}
	return strings.TrimRight(handle[:min(len(handle), maxHandle)], "-")
}
