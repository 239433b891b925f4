package blocks

import (
	"fmt"
	"strings"

	"github.com/orch-project/orch/pkg/jsontree"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// obfuscated stands for every secret that is not shown, whatever its length.
const obfuscated = "********"

// paths are places in a document: names of members, from the outside in. A path that ends in * is everything below.
type paths [][]string

// everythingBelow is the last step of a path that leads to all there is.
const everythingBelow = "*"

// secretPaths are the places that a schema calls secret. What follows a * in one of them is not looked at: everything
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

// eachSecret replaces what lies at a path below a value. On the way it looks into every item of a list, and into every
// member of an object that does not have the one that the path names: schemas name the fields of what is in lists and
// maps, not the lists and maps themselves, and a secret must not show because of what it is wrapped in.
func eachSecret(v jsontree.Value, path []string, replace func(jsontree.Value) jsontree.Value) jsontree.Value {
	if len(path) == 0 {
		if v == nil {
			return nil // There is no secret, and that is none.
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

// eachLeaf replaces every value that is not an object; how long a list is does not show either.
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

// restore puts secrets back that a client sends obfuscated, as it has read them: it does not mean to change them. shown is
// the current data as it was shown. Lists are compared item by item.
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
