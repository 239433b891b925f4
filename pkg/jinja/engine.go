package jinja

import (
	"maps"
	"sync"
)

// Engine compiles templates. It is safe for concurrent use.
type Engine struct {
	undefined  Undefined
	budget     Budget
	filters    map[string]*builtin
	tests      map[string]*builtin
	globals    Vars
	autoescape bool
	// The bounded caches of compiled sources.
	templates   *cache[*Template]
	expressions *cache[*Expression]
	methods     methodTables
	// The limits of Options.Loops and Options.LoopDepth.
	loops, loopDepth int
	states           sync.Pool // of *state
}

// methodTables holds the methods of Python's types. Rendering reads this copy, because the package variables refer to functions
// that render.
type methodTables struct{ str, markup, dict, list map[string]*method }

// New returns an engine.
func New(o Options) *Engine {
	e := &Engine{
		undefined:   o.Undefined,
		budget:      o.Budget.withDefaults(),
		loops:       o.Loops,
		loopDepth:   o.LoopDepth,
		filters:     builtinFilters,
		tests:       builtinTests,
		globals:     make(Vars, len(builtinGlobals)+len(o.Globals)),
		autoescape:  o.Autoescape,
		templates:   newCache[*Template](o.CacheEntries),
		expressions: newCache[*Expression](o.CacheEntries),
		methods:     methodTables{strMethods, markupMethods, dictMethods, listMethods},
	}
	maps.Copy(e.globals, builtinGlobals)
	maps.Copy(e.globals, o.Globals)
	if len(o.Filters) > 0 {
		e.filters = make(map[string]*builtin, len(builtinFilters)+len(o.Filters))
		maps.Copy(e.filters, builtinFilters)
		for name, f := range o.Filters {
			e.filters[name] = hostFilter(name, f)
		}
	}
	return e
}

// Compile compiles a template. An error is an *Error of KindSyntax or KindBudget.
func (e *Engine) Compile(text string) (t *Template, err error) {
	defer recoverPanic(&err)
	src, err := e.source(text)
	if err != nil {
		return nil, err
	}
	body, err := parse(src, e.budget.Depth)
	if err != nil {
		return nil, err
	}
	return compile(e, src, body)
}

// source is the source of a text within the budget.
func (e *Engine) source(text string) (*source, error) {
	if len(text) > e.budget.SourceBytes {
		return nil, budgetErr("the template's source has %d bytes, more than %d", len(text), e.budget.SourceBytes)
	}
	return newSource(text), nil
}

// Cached is like Compile, with a bounded cache of templates by their source. It does not cache errors.
func (e *Engine) Cached(text string) (*Template, error) {
	return e.templates.compile(text, e.Compile)
}
