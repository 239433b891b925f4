package project

import (
	"strings"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
)

// The errors of two paths that exclude each other.
var (
	pathBelowCollision = mongoerr.Kind{Code: 31249, Name: "Location31249"}
	pathCollision      = mongoerr.Kind{Code: 31250, Name: "Location31250"}
)

// paths are the paths that a projection names so far. A path that is named ends in true; a path that leads to one, in false.
type paths map[string]bool

// add takes note of a path. It must not be named twice, lead to one that is named, or go on below one.
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
