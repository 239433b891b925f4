package tenancy

import (
	"regexp"
	"strings"
)

var notOfHandles = regexp.MustCompile(`[^a-z0-9]+`)

// Handle makes a handle of a name: "My first workspace" is my-first-workspace.
func Handle(name string) string {
	handle := strings.Trim(notOfHandles.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if handle == "" {
		return "unnamed"
	}
	return handle
}
