// Package jinja renders Jinja2 templates as Jinja2 on CPython does, within a budget.
//
// It implements the ImmutableSandboxedEnvironment of Jinja2 3.1 with the filters of jinja2-humanize-extension. The differences
// are in docs/templates.md. ADR 005 says why the engine is our own.
//
//	source text
//	   │  lexer.go, lexer_literal.go
//	   ▼
//	tokens with positions
//	   │  parser*.go: recursive descent, Jinja's precedences, bounded nesting
//	   ▼
//	syntax tree (ast.go)
//	   │  scope.go: names → slots of a function's activation, by Jinja's scoping rules
//	   │  compile*.go: statements and expressions → closures
//	   ▼
//	Template: an immutable program, shared between goroutines (template.go, cache.go)
//	   │  Render: one state with its meter, buffers and argument stack (state.go, meter.go)
//	   │          values (value.go, dict.go …), operators (arith.go, compare.go), attributes and
//	   │          methods (attr.go, method_*.go), filters*.go, tests.go, globals.go
//	   ▼
//	output text, or an *Error with its kind and position
//
// # Values
//
// A Value has one of Python's types: int of any size, float, str, Markup, bool, None, list, tuple, dict in insertion order,
// range, iterator, macro, undefined. FromJSON and the constructors create values. There is no reflection, so a template cannot
// reach a Go value, method or file.
//
// # Budget
//
// The engine counts everything that a template does: steps, bytes before their allocation, call and syntax depth, output,
// digits of integers, time. See Budget. A template that exceeds a limit returns an error of KindBudget.
package jinja
