package jinja

import "strings"

// attrNames is the set of attribute names of a Python type.
type attrNames map[string]bool

func (a attrNames) has(name string) bool { return a[name] }

func names(list string) attrNames {
	a := make(attrNames)
	for _, n := range strings.Fields(list) {
		a[n] = true
	}
	return a
}

// attrType returns the key of v's type in typeAttrs.
func attrType(v Value) string {
	switch v := v.(type) {
	case *funcValue:
		if v.class != "" {
			return "type"
		}
		return "function"
	case bigValue:
		return "int"
	case *boundMethod:
		return v.kind
	}
	return v.typeName()
}

// hasPrivate reports whether a Python object has an attribute whose name begins with an underscore.
func hasPrivate(v Value, name string) bool {
	return typeAttrs["object"].has(name) || typeAttrs[attrType(v)].has(name)
}

// typeAttrs are the attributes of CPython's types, except those of object. The sandbox rejects an attribute that exists; any
// other is undefined.
var typeAttrs = map[string]attrNames{
	"BlockReference": names(`__call__ __dict__ __module__ __weakref__ _async_call _context _depth _stack name super`),
	"Cycler":         names(`__dict__ __module__ __next__ __weakref__ current items next pos reset`),
	"Headers": names(`__class_getitem__ __contains__ __delitem__ __getitem__ __ior__ __iter__ __len__ __or__ __reversed__ __ror__ __setitem__ clear copy fromkeys get items
		keys pop popitem setdefault update values`),
	"Joiner": names(`__call__ __dict__ __module__ __weakref__ sep used`),
	"LoopContext": names(`__annotations__ __call__ __dict__ __iter__ __len__ __module__ __next__ __weakref__ _after _before _current _iterable _iterator _last_changed_value
		_length _peek_next _recurse _to_iterator _undefined changed cycle depth depth0 first index index0 last length nextitem previtem revindex revindex0`),
	"Macro": names(`__call__ __dict__ __module__ __weakref__ _argument_count _async_invoke _default_autoescape _environment _func _invoke arguments caller catch_kwargs
		catch_varargs explicit_caller name`),
	"Markup": names(`__add__ __contains__ __getitem__ __getnewargs__ __html__ __html_format__ __iter__ __len__ __mod__ __module__ __mul__ __radd__ __rmod__ __rmul__
		__slots__ capitalize casefold center count encode endswith escape expandtabs find format format_map index isalnum isalpha isascii isdecimal isdigit
		isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip maketrans partition removeprefix removesuffix replace rfind
		rindex rjust rpartition rsplit rstrip split splitlines startswith strip striptags swapcase title translate unescape upper zfill`),
	"Namespace":         names(`__dict__ __module__ __setitem__ __weakref__`),
	"NoneType":          names(`__bool__`),
	"TemplateReference": names(`_TemplateReference__context __dict__ __getitem__ __module__ __weakref__`),
	"Undefined": names(`__add__ __aiter__ __bool__ __call__ __complex__ __div__ __float__ __floordiv__ __getattr__ __getitem__ __int__ __iter__ __len__ __mod__ __module__
		__mul__ __neg__ __pos__ __pow__ __radd__ __rdiv__ __rfloordiv__ __rmod__ __rmul__ __rpow__ __rsub__ __rtruediv__ __slots__ __sub__ __truediv__
		_fail_with_undefined_error _undefined_exception _undefined_hint _undefined_message _undefined_name _undefined_obj`),
	"_GroupTuple": names(`__add__ __annotations__ __class_getitem__ __contains__ __getitem__ __getnewargs__ __iter__ __len__ __match_args__ __module__ __mul__ __orig_bases__
		__rmul__ __slots__ _asdict _field_defaults _fields _make _replace count grouper index list`),
	"bool": names(`__abs__ __add__ __and__ __bool__ __ceil__ __divmod__ __float__ __floor__ __floordiv__ __getnewargs__ __index__ __int__ __invert__ __lshift__ __mod__
		__mul__ __neg__ __or__ __pos__ __pow__ __radd__ __rand__ __rdivmod__ __rfloordiv__ __rlshift__ __rmod__ __rmul__ __ror__ __round__ __rpow__
		__rrshift__ __rshift__ __rsub__ __rtruediv__ __rxor__ __sub__ __truediv__ __trunc__ __xor__ as_integer_ratio bit_count bit_length conjugate
		denominator from_bytes imag numerator real to_bytes`),
	"builtin_function_or_method": names(`__call__ __module__ __name__ __qualname__ __self__ __text_signature__`),
	"bytes": names(`__add__ __bytes__ __contains__ __getitem__ __getnewargs__ __iter__ __len__ __mod__ __mul__ __rmod__ __rmul__ capitalize center count decode endswith
		expandtabs find fromhex hex index isalnum isalpha isascii isdigit islower isspace istitle isupper join ljust lower lstrip maketrans partition
		removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title translate upper zfill`),
	"complex": names(`__abs__ __add__ __bool__ __complex__ __getnewargs__ __mul__ __neg__ __pos__ __pow__ __radd__ __rmul__ __rpow__ __rsub__ __rtruediv__ __sub__
		__truediv__ conjugate imag real`),
	"dict": names(`__class_getitem__ __contains__ __delitem__ __getitem__ __ior__ __iter__ __len__ __or__ __reversed__ __ror__ __setitem__ clear copy fromkeys get items
		keys pop popitem setdefault update values`),
	"dict_items":  names(`__and__ __contains__ __iter__ __len__ __or__ __rand__ __reversed__ __ror__ __rsub__ __rxor__ __sub__ __xor__ isdisjoint mapping`),
	"dict_keys":   names(`__and__ __contains__ __iter__ __len__ __or__ __rand__ __reversed__ __ror__ __rsub__ __rxor__ __sub__ __xor__ isdisjoint mapping`),
	"dict_values": names(`__iter__ __len__ __reversed__ mapping`),
	"float": names(`__abs__ __add__ __bool__ __ceil__ __divmod__ __float__ __floor__ __floordiv__ __getformat__ __getnewargs__ __int__ __mod__ __mul__ __neg__ __pos__
		__pow__ __radd__ __rdivmod__ __rfloordiv__ __rmod__ __rmul__ __round__ __rpow__ __rsub__ __rtruediv__ __sub__ __truediv__ __trunc__ as_integer_ratio
		conjugate fromhex hex imag is_integer real`),
	"function":  names(`__annotations__ __builtins__ __call__ __closure__ __code__ __defaults__ __dict__ __get__ __globals__ __kwdefaults__ __module__ __name__ __qualname__`),
	"generator": names(`__del__ __iter__ __name__ __next__ __qualname__ close gi_code gi_frame gi_running gi_suspended gi_yieldfrom send throw`),
	"int": names(`__abs__ __add__ __and__ __bool__ __ceil__ __divmod__ __float__ __floor__ __floordiv__ __getnewargs__ __index__ __int__ __invert__ __lshift__ __mod__
		__mul__ __neg__ __or__ __pos__ __pow__ __radd__ __rand__ __rdivmod__ __rfloordiv__ __rlshift__ __rmod__ __rmul__ __ror__ __round__ __rpow__
		__rrshift__ __rshift__ __rsub__ __rtruediv__ __rxor__ __sub__ __truediv__ __trunc__ __xor__ as_integer_ratio bit_count bit_length conjugate
		denominator from_bytes imag numerator real to_bytes`),
	"list": names(`__add__ __class_getitem__ __contains__ __delitem__ __getitem__ __iadd__ __imul__ __iter__ __len__ __mul__ __reversed__ __rmul__ __setitem__ append
		clear copy count extend index insert pop remove reverse sort`),
	"list_iterator":        names(`__iter__ __length_hint__ __next__ __setstate__`),
	"list_reverseiterator": names(`__iter__ __length_hint__ __next__ __setstate__`),
	"method":               names(`__call__ __func__ __self__ jinja_pass_arg`),
	"object": names(`__class__ __delattr__ __dir__ __doc__ __eq__ __format__ __ge__ __getattribute__ __getstate__ __gt__ __hash__ __init__ __init_subclass__ __le__ __lt__
		__ne__ __new__ __reduce__ __reduce_ex__ __repr__ __setattr__ __sizeof__ __str__ __subclasshook__`),
	"range": names(`__bool__ __contains__ __getitem__ __iter__ __len__ __reversed__ count index start step stop`),
	"str": names(`__add__ __contains__ __getitem__ __getnewargs__ __iter__ __len__ __mod__ __mul__ __rmod__ __rmul__ capitalize casefold center count encode endswith
		expandtabs find format format_map index isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper
		join ljust lower lstrip maketrans partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith
		strip swapcase title translate upper zfill`),
	"tuple": names(`__add__ __class_getitem__ __contains__ __getitem__ __getnewargs__ __iter__ __len__ __mul__ __rmul__ count index`),
	"type": names(`__abstractmethods__ __annotations__ __base__ __bases__ __basicsize__ __call__ __class_getitem__ __contains__ __delitem__ __dict__ __dictoffset__
		__flags__ __getitem__ __instancecheck__ __ior__ __itemsize__ __iter__ __len__ __module__ __mro__ __name__ __or__ __prepare__ __qualname__ __reversed__
		__ror__ __setitem__ __subclasscheck__ __subclasses__ __text_signature__ __weakrefoffset__ clear copy fromkeys get items keys mro pop popitem
		setdefault update values`),
}
