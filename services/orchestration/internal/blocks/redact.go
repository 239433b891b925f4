package blocks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/orch-project/orch/pkg/jsontree"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// obfuscated replaces every hidden secret, whatever its length.
const obfuscated = "********"

// paths are locations in a document as member names from the outside in. A path that ends in * covers everything below.
type paths [][]string

// everythingBelow is the last element of a path that covers a whole subtree.
const everythingBelow = "*"

// secretFields returns the texts by which a schema marks fields as secret.
func secretFields(schema *orchv1.BlockSchema) ([]string, error) {
	fields, err := jsontree.ParseObject(schema.GetFields())
	if err != nil {
		return nil, fmt.Errorf("read the fields of block schema %s: %w", schema.GetId(), err)
	}
	value, _ := fields.Get("secret_fields")
	list, _ := value.(jsontree.List)
	var found []string
	for _, item := range list {
		if text, _ := item.(string); text != "" && !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	return found, nil
}

// parsePath returns the path that a secret field names. It ignores what follows a *, because everything below is secret
// then.
func parsePath(field string) []string {
	steps := strings.Split(field, ".")
	for i, step := range steps {
		if step == everythingBelow {
			return steps[:i+1]
		}
	}
	return steps
}

// parsePaths returns the paths of secret fields.
func parsePaths(fields []string) paths {
	found := make(paths, len(fields))
	for i, field := range fields {
		found[i] = parsePath(field)
	}
	return found
}

// hiddenFields returns the secret fields of a document: those of its schema, and those that were secret when their
// values were stored.
func hiddenFields(document *orchv1.BlockDocument, schema *orchv1.BlockSchema) ([]string, error) {
	fields, err := secretFields(schema)
	if err != nil {
		return nil, err
	}
	return union(fields, document.GetSecretFields()), nil
}

// union returns the first texts and those of the others that are not among them.
func union(texts, others []string) []string {
	all := slices.Clone(texts)
	for _, text := range others {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// redact obfuscates the secrets of a document in place.
func redact(data *jsontree.Object, secret paths) {
	for _, path := range secret {
		eachSecret(data, path, func(jsontree.Value) jsontree.Value { return obfuscated })
	}
}

// eachSecret replaces the values at a path. It descends into every list item, and into every member of an object that
// the path does not name next. Schemas name the fields inside lists and maps, not the containers, and a container must
// not expose a secret. Whether a value is at a path depends on the names above it alone: no sibling uncovers a secret.
func eachSecret(v jsontree.Value, path []string, replace func(jsontree.Value) jsontree.Value) jsontree.Value {
	if len(path) == 0 {
		if v == nil {
			return nil // The path matches nothing.
		}
		return replace(v)
	}
	step, below := path[0], path[1:]
	switch v := v.(type) {
	case jsontree.List:
		if step == everythingBelow {
			return replace(v)
		}
		for i, item := range v {
			if isContainer(item) {
				v[i] = eachSecret(item, path, replace)
			}
		}
	case *jsontree.Object:
		if step == everythingBelow {
			for _, m := range v.Members() {
				v.Set(m.Key, eachLeaf(m.Value, replace))
			}
			return v
		}
		for _, m := range v.Members() {
			switch {
			case m.Key == step:
				v.Set(m.Key, eachSecret(m.Value, below, replace))
			case isContainer(m.Value):
				v.Set(m.Key, eachSecret(m.Value, path, replace))
			}
		}
	default:
		if step == everythingBelow && v != nil {
			return replace(v)
		}
	}
	return v
}

// eachLeaf replaces every value that is not an object, and hides the length of lists.
func eachLeaf(v jsontree.Value, replace func(jsontree.Value) jsontree.Value) jsontree.Value {
	if _, ok := v.(*jsontree.Object); ok {
		return eachSecret(v, []string{everythingBelow}, replace)
	}
	return replace(v)
}

func isContainer(v jsontree.Value) bool {
	switch v.(type) {
	case *jsontree.Object, jsontree.List:
		return true
	}
	return false
}
