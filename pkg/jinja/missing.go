package jinja

import (
	"errors"
	"strings"
)

// lookedUp records the expression of a look-up in an undefined value that it created. A look-up in an undefined value may return
// that value itself, whose expression is known.
func lookedUp(v, obj Value, site expr) Value {
	if u, ok := v.(*undefinedValue); ok && u.site == nil && v != obj {
		u.site = site
	}
	return v
}

// missing names a value that a template looked up in vain, as the template writes it: "body.device has no name". It is empty if the
// value has no such name.
func (u *undefinedValue) missing() string {
	if u.hint != "" || u.security {
		return ""
	}
	switch e := u.site.(type) {
	case *nameExpr:
		return e.name + " is undefined"
	case *attrExpr:
		if name, ok := written(e.obj); ok {
			return name + " has no " + e.name
		}
	case *itemExpr:
		object, ok := written(e.obj)
		if name, isText := asText(u.name); ok && isText {
			return object + " has no " + name
		}
		if ok {
			return object + " has no element " + reprShort(u.name)
		}
	}
	return ""
}

// written returns an expression of names, attributes and constant keys as a template writes it; ok is false for any other one.
func written(e expr) (text string, ok bool) {
	switch e := e.(type) {
	case *nameExpr:
		return e.name, true
	case *attrExpr:
		name, ok := written(e.obj)
		return name + "." + e.name, ok
	case *itemExpr:
		name, ok := written(e.obj)
		key, constant := e.key.(*constExpr)
		if !ok || !constant {
			return "", false
		}
		return name + "[" + reprShort(key.val) + "]", true
	}
	return "", false
}

// mentionMissing names the undefined value among the arguments of a filter whose error mentions the type of such values.
func mentionMissing(err error, arguments []Value) error {
	failed, ok := errors.AsType[*Error](err)
	if !ok || failed.Missing != "" || failed.class != classType {
		return err
	}
	for _, v := range arguments {
		if u := undefinedIn(v, containersDeep); u != nil && strings.Contains(failed.Message, u.typeName()) {
			failed.Missing = u.missing()
			break
		}
	}
	return err
}

// containersDeep bounds the search for an undefined value in the containers that a template builds for a filter.
const containersDeep = 4

// undefinedIn returns the first undefined value in a value, or nil.
func undefinedIn(v Value, deep int) *undefinedValue {
	var items []Value
	switch v := v.(type) {
	case *undefinedValue:
		return v
	case *dictValue:
		items = v.vals
	case *listValue:
		items = v.items
	case *tupleValue:
		items = v.items
	}
	for _, item := range items {
		if deep == 0 {
			break
		}
		if u := undefinedIn(item, deep-1); u != nil {
			return u
		}
	}
	return nil
}
