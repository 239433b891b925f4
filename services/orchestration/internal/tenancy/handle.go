package tenancy

import (
	"regexp"
	"strings"
)

var notOfHandles = regexp.MustCompile(`[^a-z0-9]+`)

// maxHandle is how long the contract lets a handle be; names may be longer.
const maxHandle = 100

// Handle makes a handle of a name: "My first workspace" is my-first-workspace.
func Handle(name string) string {
	handle := strings.Trim(notOfHandles.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if handle == "" {
		return "unnamed"
	}
	return strings.TrimRight(handle[:min(len(handle), maxHandle)], "-")
}
