package jinja

import "time"

// Undefined selects how a missing value behaves.
type Undefined int

const (
	// Default is Jinja's Undefined: a missing value prints as nothing, is false and iterates as empty;
	// any other use, an attribute of it included, is an error.
	Default Undefined = iota
	// Chainable is ChainableUndefined: as Default, but attributes and items of a missing value are missing too.
	Chainable
	// Strict is StrictUndefined: a missing value may only be tested for being defined.
	Strict
)

// Budget bounds what one compilation or one rendering may consume. A field that is zero takes the
// value of DefaultBudget; a negative one is unlimited, except Depth, which cannot be.
type Budget struct {
	// Steps bounds the work of one rendering: loop turns, calls, and elements that filters look at.
	Steps int64
	// Bytes bounds the memory that one rendering asks for in total; it is charged before allocating.
	Bytes int64
	// Depth bounds the nesting of calls while rendering and of syntax while compiling.
	Depth int
	// SourceBytes bounds the length of a template's source in bytes.
	SourceBytes int
	// OutputBytes bounds the length of the rendered text in bytes.
	OutputBytes int
	// Range bounds the number of items of range().
	Range int64
	// Digits bounds the decimal digits of an integer.
	Digits int
	// Timeout bounds the wall-clock time of one rendering, beside the context's own deadline.
	Timeout time.Duration
}

// DefaultBudget is generous for a template that forms a message from a webhook's body and small
// enough that a hostile one is stopped within a fraction of a second.
func DefaultBudget() Budget {
	return Budget{
		Steps:       1_000_000,
		Bytes:       32 << 20,
		Depth:       200,
		SourceBytes: 64 << 10,
		OutputBytes: 8 << 20,
		Range:       100_000,
		Digits:      20_000,
		Timeout:     time.Second,
	}
}

// unlimited stands for a bound that was switched off.
const unlimited = int64(1) << 62

func (b Budget) withDefaults() Budget {
	d := DefaultBudget()
	b.Steps = bound(b.Steps, d.Steps)
	b.Bytes = bound(b.Bytes, d.Bytes)
	b.SourceBytes = int(bound(int64(b.SourceBytes), int64(d.SourceBytes)))
	b.OutputBytes = int(bound(int64(b.OutputBytes), int64(d.OutputBytes)))
	b.Range = bound(b.Range, d.Range)
	b.Digits = int(bound(int64(b.Digits), int64(d.Digits)))
	if b.Depth <= 0 {
		b.Depth = d.Depth
	}
	if b.Timeout == 0 {
		b.Timeout = d.Timeout
	}
	return b
}

func bound(v, def int64) int64 {
	switch {
	case v == 0:
		return def
	case v < 0:
		return unlimited
	}
	return v
}

// Options configures an Engine. The zero value is Jinja's default environment in an immutable sandbox.
type Options struct {
	Undefined Undefined
	Budget    Budget
	// Loops bounds the for statements of one template, and LoopDepth how deep they may be nested; zero is no bound. The
	// steps of a rendering are bounded all the same.
	Loops, LoopDepth int
	// Filters are added to the built-in ones and win over them.
	Filters map[string]FilterFunc
	// Globals are visible to every template, below the variables given to Render.
	Globals Vars
	// Autoescape escapes printed values for HTML unless they are marked safe.
	Autoescape bool
	// CacheEntries bounds the number of templates that Cached keeps; zero means 256.
	CacheEntries int
}

// Vars are the variables given to a template.
type Vars map[string]Value
