package parameters

import (
	"encoding/json"
	"math"
	"strings"
)

// maxWork bounds how many schemas one validation may visit. A visit takes about a microsecond.
const maxWork = 5_000_000

// maxObjects bounds the objects in a schema, each of which may be a schema: the compiler's work grows with their square.
const maxObjects = 3000

// errTooComplex is a schema whose references multiply the work of a validation beyond all use.
var errTooComplex = &SchemaError{"The schema is too complex to be validated."}

// complexity estimates the work of validating values. References can make a short schema visit itself exponentially often:
// one definition that refers twice to the next, and so on.
type complexity struct {
	// visits is the number of schemas that are reached from the root when every reference is followed once.
	visits float64
	// recursions is the number of references that lead back into a schema which is being visited. Each level of a value
	// may follow all of them again.
	recursions float64
}

// measure estimates a schema. It returns a *SchemaError for references that it cannot follow.
func measure(doc any) (complexity, error) {
	m := measurement{root: doc, anchors: map[string]any{}, cache: map[string]complexity{}, visiting: map[string]bool{}}
	m.collect(doc, 0)
	return m.visit(doc, 0)
}

// allows tells whether the work of validating a value stays within maxWork.
func (c complexity) allows(value any) bool {
	nodes, depth := size(value)
	return c.visits*nodes*math.Pow(max(c.recursions, 1), depth) <= maxWork
}

// size is the number of values within a value, itself included, and how deep they are nested. A number beyond maxDigits has no bound.
func size(value any) (nodes, depth float64) {
	each := func(below any) {
		n, d := size(below)
		nodes, depth = nodes+n, max(depth, d+1)
	}
	nodes = 1
	switch value := value.(type) {
	case map[string]any:
		for _, below := range value {
			each(below)
		}
	case []any:
		for _, below := range value {
			each(below)
		}
	case json.Number:
		if isLarge(value) {
			nodes = math.Inf(1)
		}
	}
	return nodes, depth
}

// objects counts the objects within a value.
func objects(value any) (n int) {
	switch value := value.(type) {
	case map[string]any:
		n = 1
		for _, below := range value {
			n += objects(below)
		}
	case []any:
		for _, below := range value {
			n += objects(below)
		}
	}
	return n
}

type measurement struct {
	root     any
	anchors  map[string]any
	cache    map[string]complexity
	visiting map[string]bool
}

// maxSchemaDepth bounds the nesting of a schema, because the compiler's work grows with more than its square. The contract bounds that
// of requests more tightly.
const maxSchemaDepth = 256

// collect finds what references may name other than by a pointer.
func (m *measurement) collect(value any, depth int) {
	if depth > maxSchemaDepth {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range []string{"$anchor", "$dynamicAnchor", "$id", "id"} {
			if name, ok := value[key].(string); ok {
				m.anchors[strings.TrimPrefix(name, "#")] = value
			}
		}
		for _, below := range value {
			m.collect(below, depth+1)
		}
	case []any:
		for _, below := range value {
			m.collect(below, depth+1)
		}
	}
}

// visit counts the schemas below a value. Definitions count where they are referred to.
func (m *measurement) visit(value any, depth int) (complexity, error) {
	if depth > maxSchemaDepth {
		return complexity{}, errTooComplex
	}
	sum := complexity{visits: 1}
	add := func(c complexity, err error) error {
		sum.visits, sum.recursions = sum.visits+c.visits, sum.recursions+c.recursions
		if sum.visits > maxWork {
			return errTooComplex
		}
		return err
	}
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			if key == "definitions" || key == "$defs" {
				continue
			}
			ref, isRef := below.(string)
			if isRef && (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef") {
				if err := add(m.follow(ref, depth+1)); err != nil {
					return sum, err
				}
				continue
			}
			switch below.(type) {
			case map[string]any, []any:
				if err := add(m.visit(below, depth+1)); err != nil {
					return sum, err
				}
			}
		}
	case []any:
		for _, below := range value {
			if err := add(m.visit(below, depth+1)); err != nil {
				return sum, err
			}
		}
	}
	return sum, nil
}

// follow counts the schemas below what a reference names.
func (m *measurement) follow(ref string, depth int) (complexity, error) {
	if cached, ok := m.cache[ref]; ok {
		return cached, nil
	}
	if m.visiting[ref] {
		return complexity{visits: 1, recursions: 1}, nil
	}
	target, ok := m.resolve(ref)
	if !ok {
		return complexity{}, &SchemaError{"Unable to resolve the reference " + ref + "."}
	}
	m.visiting[ref] = true
	defer delete(m.visiting, ref)
	c, err := m.visit(target, depth)
	if err == nil && c.recursions == 0 { // The count of a recursion depends on where it began.
		m.cache[ref] = c
	}
	return c, err
}

// resolve finds what a reference names: a pointer into the document, an anchor, or the whole document.
func (m *measurement) resolve(ref string) (any, bool) {
	base, fragment, _ := strings.Cut(ref, "#")
	from := m.root
	if base != "" && base != location {
		named, ok := m.anchors[base]
		if !ok {
			return nil, false
		}
		from = named
	}
	switch {
	case fragment == "":
		return from, true
	case !strings.HasPrefix(fragment, "/"):
		named, ok := m.anchors[fragment]
		return named, ok
	}
	for step := range strings.SplitSeq(fragment[1:], "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~", "%25", "%", "%20", " ", "%7E", "~").Replace(step)
		if from = below(from, step); from == nil {
			return nil, false
		}
	}
	return from, true
}
