package blocks

import "github.com/orch-project/orch/pkg/jsontree"

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

// unsentMembers returns the current secrets that a client's data leaves as they are, at their locations. It is the
// counterpart of restore, called before it.
func unsentMembers(sent, shown, current *jsontree.Object) *jsontree.Object {
	if unsent, ok := unsentIn(sent, shown, current).(*jsontree.Object); ok {
		return unsent
	}
	return &jsontree.Object{}
}

func unsentIn(sent, shown, current jsontree.Value) jsontree.Value {
	if sent == obfuscated && shown == obfuscated {
		return current
	}
	switch sent := sent.(type) {
	case *jsontree.Object:
		shown, _ := shown.(*jsontree.Object)
		current, _ := current.(*jsontree.Object)
		unsent := &jsontree.Object{}
		for _, m := range sent.Members() {
			before, _ := shown.Get(m.Key)
			secret, _ := current.Get(m.Key)
			if left := unsentIn(m.Value, before, secret); left != nil {
				unsent.Set(m.Key, left)
			}
		}
		return unsent
	case jsontree.List:
		shown, _ := shown.(jsontree.List)
		current, _ := current.(jsontree.List)
		var unsent jsontree.List
		for i := range min(len(sent), len(shown), len(current)) {
			unsent = append(unsent, unsentIn(sent[i], shown[i], current[i]))
		}
		return unsent
	}
	return nil
}

// fieldsWithin returns the secret fields that have a value in data.
func fieldsWithin(data *jsontree.Object, fields []string) []string {
	var within []string
	for _, field := range fields {
		found := false
		eachSecret(data, parsePath(field), func(v jsontree.Value) jsontree.Value {
			found = found || !isEmpty(v)
			return v
		})
		if found {
			within = append(within, field)
		}
	}
	return within
}

// isEmpty reports whether a value contains no secret.
func isEmpty(v jsontree.Value) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case jsontree.List:
		return len(v) == 0
	case *jsontree.Object:
		return v.Len() == 0
	}
	return false
}
