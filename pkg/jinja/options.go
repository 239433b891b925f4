package jinja

import "time"

// Undefined selects the behaviour of undefined values.
type Undefined int

const (
	// Default is Jinja's Undefined: it prints as nothing, is false and iterates as empty. Any other use is an error, including
	// its attributes.
	Default Undefined = iota
	// Chainable is ChainableUndefined: as Default, but attributes and items of an undefined value are undefined too.
	Chainable
	// Strict is StrictUndefined: the only permitted use is a test for being defined.
	Strict
)

// Budget bounds what one compilation or one rendering may consume. A zero field takes the value of DefaultBudget. A negative
// field means no limit, except for Depth, which always has one.
type Budget struct {
	// Steps bounds the work of one rendering: loop iterations, calls, and elements that filters read.
	Steps int64
	// Bytes bounds the total memory that one rendering allocates. It is charged before the allocation.
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
	// Timeout bounds the wall-clock time of one rendering, in addition to the context's deadline.
	Timeout time.Duration
}

// DefaultBudget suits a template that formats a message from a webhook's body. It stops a hostile template within a fraction of
// a second.
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

// unlimited is the value of a limit that is switched off.
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
	// Loops bounds the for statements of one template, and LoopDepth their nesting. Zero means no limit; Budget.Steps applies
	// in any case.
	Loops, LoopDepth int
	// Filters extend and override the built-in filters.
	Filters map[string]FilterFunc
	// Globals are visible to every template. Variables passed to Render hide them.
	Globals Vars
	// Autoescape escapes printed values for HTML unless they are marked safe.
	Autoescape bool
	// CacheEntries bounds the number of templates that Cached holds. Zero means 256.
	CacheEntries int
}

// Vars are the variables of a template by name.
type Vars map[string]Value
