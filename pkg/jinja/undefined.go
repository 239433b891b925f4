package jinja

// undefinedValue is an undefined value. It records what was looked up, for the message of a later error.
type undefinedValue struct {
	mode Undefined
	hint string
	// obj is the object of the lookup, or nil for a variable; name is the name looked up.
	obj  Value
	name Value
	// site is the expression that looked it up; nil if a filter or the host did.
	site expr
	// security marks an attribute that the sandbox rejects.
	security bool
}

func (u *undefinedValue) typeName() string {
	switch u.mode {
	case Chainable:
		return "ChainableUndefined"
	case Strict:
		return "StrictUndefined"
	}
	return "Undefined"
}

func (u *undefinedValue) message() string {
	if u.hint != "" {
		return u.hint
	}
	name := reprShort(u.name)
	if u.obj == nil {
		return name + " is undefined"
	}
	if s, ok := asText(u.name); ok {
		return reprStr(typeDescription(u.obj)) + " has no attribute " + reprStr(s)
	}
	return typeDescription(u.obj) + " has no element " + name
}

// fail returns the error for a use that the value does not allow.
func (u *undefinedValue) fail() error {
	if u.security {
		return otherErr("SecurityError", "%s", u.message())
	}
	err := newError(KindUndefined, classUndefined, "UndefinedError", "%s", u.message())
	err.Missing = u.missing()
	return err
}

// typeDescription names the type of v as Jinja's messages do.
func typeDescription(v Value) string {
	switch v := v.(type) {
	case noneValue:
		return "None"
	case *macroValue:
		return "jinja2.runtime.Macro object"
	case *loopValue:
		return "jinja2.runtime.LoopContext object"
	case *selfValue:
		return "jinja2.runtime.TemplateReference object"
	case *namespaceValue:
		return "jinja2.utils.Namespace object"
	case *cyclerValue:
		return "jinja2.utils.Cycler object"
	case *joinerValue:
		return "jinja2.utils.Joiner object"
	case markupValue:
		return "markupsafe.Markup object"
	default:
		return v.typeName() + " object"
	}
}

func isUndefined(v Value) bool { _, ok := v.(*undefinedValue); return ok }

func (rt *state) undefinedName(name string) Value {
	return &undefinedValue{mode: rt.engine.undefined, name: strValue(name)}
}

func (rt *state) undefinedAttr(obj, name Value) Value {
	return &undefinedValue{mode: rt.engine.undefined, obj: obj, name: name}
}

func (rt *state) undefinedHint(hint string) Value {
	return &undefinedValue{mode: rt.engine.undefined, hint: hint}
}

func (rt *state) unsafeAttr(obj Value, name string) Value {
	return &undefinedValue{
		mode: rt.engine.undefined, obj: obj, name: strValue(name), security: true,
		hint: "access to attribute " + reprStr(name) + " of " + reprStr(obj.typeName()) + " object is unsafe.",
	}
}
