package jinja

// undefinedValue is a missing value. It remembers what was missed, for the message of the error that
// its use raises.
type undefinedValue struct {
	mode Undefined
	hint string
	// obj is what was asked, nil when a variable was; name is what it was asked for.
	obj  Value
	name Value
	// security marks an attribute that the sandbox refuses.
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

// fail is the error of any use that the value does not allow.
func (u *undefinedValue) fail() error {
	if u.security {
		return otherErr("SecurityError", "%s", u.message())
	}
	return newError(KindUndefined, classUndefined, "UndefinedError", "%s", u.message())
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
