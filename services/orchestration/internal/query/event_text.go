package query

import "github.com/orch-project/orch/pkg/events"

// textPaths are where an event is searched: its name, the values (not the names) of its resources' labels, and its
// payload as it was sent, names and escapes included.
var textPaths = []string{"event", "resource.v", "related.labels.v", "payload"}

// compileText compiles a text query; package events has its language.
func compileText(query string) (node, error) {
	q := events.ParseText(query)
	kids := []node{always{}}
	anyOf := make([]node, len(q.AnyOf))
	for i, term := range q.AnyOf {
		n, err := occurs(term)
		if err != nil {
			return nil, err
		}
		anyOf[i] = n
	}
	kids = append(kids, or(anyOf...))
	for _, term := range q.AllOf {
		n, err := occurs(term)
		if err != nil {
			return nil, err
		}
		kids = append(kids, n)
	}
	for _, term := range q.NoneOf {
		pattern, err := literal(term)
		if err != nil {
			return nil, err
		}
		for _, path := range textPaths {
			kids = append(kids, match{{Key: path, Value: not(regex(path, pattern, "i"))}})
		}
	}
	return and(kids...), nil
}

// occurs matches events that hold a term anywhere.
func occurs(term string) (node, error) {
	kids := make([]node, len(textPaths))
	for i, path := range textPaths {
		n, err := contains(path, term)
		if err != nil {
			return nil, err
		}
		kids[i] = n
	}
	return or(kids...), nil
}
