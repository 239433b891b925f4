package project

import (
	"strings"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
)

// Errors of colliding paths.
var (
	pathBelowCollision = mongoerr.Kind{Code: 31249, Name: "Location31249"}
	pathCollision      = mongoerr.Kind{Code: 31250, Name: "Location31250"}
)

// paths maps the paths that a projection names to true, and their prefixes to false.
type paths map[string]bool

// add records a path. A projection must not name a path twice, nor a path and a prefix of it.
func (ps paths) add(path []string) error {
	full := strings.Join(path, ".")
	for i := 1; i < len(path); i++ {
		prefix := strings.Join(path[:i], ".")
		if ps[prefix] {
			return mongoerr.New(pathBelowCollision, "path collision at %s: remaining portion %s", full, strings.Join(path[i:], "."))
		}
		ps[prefix] = false
	}
	if _, there := ps[full]; there {
		return mongoerr.New(pathCollision, "path collision at %s", full)
	}
	ps[full] = true
	return nil
}
