package blocks

import (
	"fmt"
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

// secretPaths returns the locations that a schema marks as secret. It ignores what follows a *, because everything
// below is secret then.
func secretPaths(schema *orchv1.BlockSchema) (paths, error) {
	fields, err := jsontree.ParseObject(schema.GetFields())
	if err != nil {
		return nil, fmt.Errorf("read the fields of block schema %s: %w", schema.GetId(), err)
	}
	value, _ := fields.Get("secret_fields")
	list, _ := value.(jsontree.List)
	var found paths
	for _, item := range list {
		text, _ := item.(string)
		if text == "" {
			continue
		}
		steps := strings.Split(text, ".")
		for i, step := range steps {
			if step == everythingBelow {
				steps = steps[:i+1]
				break
			}
		}
		found = append(found, steps)
	}
	return found, nil
}

// names reports whether a member of the outermost object is secret as a whole.
func (p paths) names(member string) bool {
	for _, path := range p {
		if path[0] == member && len(path) == 1 || path[0] == everythingBelow {
			return true
		}
	}
	return false
}

// redact obfuscates the secrets of a document in place.
func redact(data *jsontree.Object, secret paths) {
	for _, path := range secret {
		eachSecret(data, path, func(jsontree.Value) jsontree.Value { return obfuscated })
	}
}

// eachSecret replaces the values at a path. It descends into every list item, and into every member of an object
// without the path's next name. Schemas name the fields inside lists and maps, not the containers, and a container must
// not expose a secret.
func eachSecret(v jsontree.Value, path []string, replace func(jsontree.Value) jsontree.Value) jsontree.Value {
	if len(path) == 0 {
		if v == nil {
			return nil // The path matches nothing.
		}
		return replace(v)
	}
	step := path[0]
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
		if value, ok := v.Get(step); ok {
			v.Set(step, eachSecret(value, path[1:], replace))
			return v
		}
		for _, m := range v.Members() {
			if isContainer(m.Value) {
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

// restore replaces obfuscated values in a client's data by the current secrets, because the client did not mean to
// change them. shown is the current data as clients see it. Lists are compared item by item.
func restore(sent, shown, current jsontree.Value) jsontree.Value {
	if sent == obfuscated && shown == obfuscated {
		return current
	}
	switch sent := sent.(type) {
	case *jsontree.Object:
		shown, _ := shown.(*jsontree.Object)
		current, _ := current.(*jsontree.Object)
		for _, m := range sent.Members() {
			before, _ := shown.Get(m.Key)
			secret, _ := current.Get(m.Key)
			sent.Set(m.Key, restore(m.Value, before, secret))
		}
	case jsontree.List:
		shown, _ := shown.(jsontree.List)
		current, _ := current.(jsontree.List)
		for i := range min(len(sent), len(shown), len(current)) {
			sent[i] = restore(sent[i], shown[i], current[i])
		}
	}
	return sent
}
