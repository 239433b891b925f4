package jinja

// builtinFilters are Jinja's filters and those of jinja2-humanize-extension.
var builtinFilters = makeFilters()

func makeFilters() map[string]*builtin {
	t := map[string]*builtin{
		"abs":            define("abs", "x /", filterAbs),
		"attr":           define("do_attr", "obj name", filterAttr),
		"batch":          define("do_batch", "value linecount fill_with=", filterBatch),
		"capitalize":     textFilter("do_capitalize", capitalize),
		"center":         define("do_center", "value width=", filterCenter),
		"count":          define("len", "obj /", filterLength),
		"d":              define("do_default", "value default_value= boolean=", filterDefault),
		"default":        define("do_default", "value default_value= boolean=", filterDefault),
		"dictsort":       define("do_dictsort", "value case_sensitive= by= reverse=", filterDictSort),
		"e":              define("escape", "s /", filterEscape),
		"escape":         define("escape", "s /", filterEscape),
		"filesizeformat": define("do_filesizeformat", "value binary=", filterFileSize),
		"first":          define("do_first", "seq", filterFirst),
		"float":          define("do_float", "value default=", filterFloat),
		"forceescape":    define("do_forceescape", "value", filterForceEscape),
		"format":         defineRaw("do_format", filterFormat),
		"groupby":        define("do_groupby", "value attribute default= case_sensitive=", filterGroupBy),
		"indent":         define("do_indent", "s width= first= blank=", filterIndent),
		"int":            define("do_int", "value default= base=", filterInt),
		"items":          define("do_items", "value", filterItems),
		"join":           define("do_join", "value d= attribute=", filterJoin),
		"last":           define("do_last", "seq", filterLast),
		"length":         define("len", "obj /", filterLength),
		"list":           define("do_list", "value", filterList),
		"lower":          textFilter("do_lower", lower),
		"map":            defineRaw("do_map", filterMap),
		"max":            define("do_max", "value case_sensitive= attribute=", filterMax),
		"min":            define("do_min", "value case_sensitive= attribute=", filterMin),
		"pprint":         define("pformat", "obj", filterPPrint),
		"random":         define("do_random", "seq", filterRandom),
		"reject":         defineRaw("do_reject", selectFilter(false, false)),
		"rejectattr":     defineRaw("do_rejectattr", selectFilter(false, true)),
		"replace":        define("do_replace", "s old new count=", filterReplace),
		"reverse":        define("do_reverse", "value", filterReverse),
		"round":          define("do_round", "value precision= method=", filterRound),
		"safe":           define("do_mark_safe", "value", filterSafe),
		"select":         defineRaw("do_select", selectFilter(true, false)),
		"selectattr":     defineRaw("do_selectattr", selectFilter(true, true)),
		"slice":          define("do_slice", "value slices fill_with=", filterSlice),
		"sort":           define("do_sort", "value reverse= case_sensitive= attribute=", filterSort),
		"string":         define("soft_str", "s /", filterString),
		"striptags":      define("do_striptags", "value", filterStripTags),
		"sum":            define("do_sum", "iterable attribute= start=", filterSum),
		"title":          textFilter("do_title", titleWords),
		"tojson":         define("do_tojson", "value indent=", filterToJSON),
		"trim":           define("do_trim", "value chars=", filterTrim),
		"truncate":       define("do_truncate", "s length= killwords= end= leeway=", filterTruncate),
		"unique":         define("do_unique", "value case_sensitive= attribute=", filterUnique),
		"upper":          textFilter("do_upper", upper),
		"urlencode":      define("do_urlencode", "value", filterURLEncode),
		"urlize":         define("do_urlize", "value trim_url_limit= nofollow= target= rel= extra_schemes=", filterURLize),
		"wordcount":      define("do_wordcount", "s", filterWordCount),
		"wordwrap":       define("do_wordwrap", "s width= break_long_words= wrapstring= break_on_hyphens=", filterWordWrap),
		"xmlattr":        define("do_xmlattr", "d autospace=", filterXMLAttr),
	}
	addHumanizeFilters(t)
	return t
}

// Arguments that Python's functions test for truth or take as they are.

func (rt *state) flag(v Value, def bool) (bool, error) {
	if v == nil {
		return def, nil
	}
	return truthy(rt, v)
}

// given reports whether an optional argument is present and not None.
func given(v Value) bool { return v != nil && v != None }

// softStr is markupsafe.soft_str: the printed form, which stays safe if it was.
func (rt *state) softStr(v Value) (s string, markup bool, err error) {
	switch v := v.(type) {
	case strValue:
		return string(v), false, nil
	case markupValue:
		return string(v), true, nil
	}
	s, err = rt.str(v)
	return s, false, err
}

// textFilter makes a filter that maps the printed form of its value.
func textFilter(name string, f func(string) string) *builtin {
	return define(name, "s", func(rt *state, a []Value) (Value, error) {
		s, markup, err := rt.softStr(a[0])
		if err != nil {
			return nil, err
		}
		if err := rt.charge(3 * len(s)); err != nil {
			return nil, err
		}
		return strLike(f(s), markup), rt.work(len(s) / 16)
	})
}
