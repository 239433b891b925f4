package query

import "github.com/orch-project/orch/pkg/events"

var (
	// eventTexts are the searched texts of an event: its name, the values (not the names) of its resources' labels, and
	// its payload as sent, with names and escapes.
	eventTexts = []string{"event", "resource.v", "related.labels.v", "payload"}
	logTexts   = []string{"message", "name"}
)

// compileText compiles a text query on the strings at the paths; package events defines its language.
func compileText(query string, paths []string) (node, error) {
	q := events.ParseText(query)
	kids := []node{matchAll{}}
	anyOf := make([]node, len(q.AnyOf))
	for i, term := range q.AnyOf {
		n, err := occurs(term, paths)
		if err != nil {
			return nil, err
		}
		anyOf[i] = n
	}
	kids = append(kids, or(anyOf...))
	for _, term := range q.AllOf {
		n, err := occurs(term, paths)
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
		for _, path := range paths {
			kids = append(kids, match{{Key: path, Value: not(regex(path, pattern, "i"))}})
		}
	}
	return and(kids...), nil
}

// occurs matches documents that contain a term in any text.
func occurs(term string, paths []string) (node, error) {
	kids := make([]node, len(paths))
	for i, path := range paths {
		n, err := contains(path, term)
		if err != nil {
			return nil, err
		}
		kids[i] = n
	}
	return or(kids...), nil
}
