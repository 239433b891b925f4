// Package jinja renders Jinja2 templates as Python's Jinja2 does, within a budget.
//
// It is an engine of its own and needs nothing but the standard library. Templates behave as in an
// ImmutableSandboxedEnvironment of Jinja2 3.1 on CPython, with the filters of jinja2-humanize-extension.
//
//	source text
//	   │  lexer.go, lexer_literal.go
//	   ▼
//	tokens, with their places
//	   │  parser*.go: recursive descent, Jinja's precedences, bounded nesting
//	   ▼
//	syntax tree (ast.go)
//	   │  scope.go: names → slots of a function's activation, by Jinja's rules
//	   │  compile*.go: statements and expressions → closures
//	   ▼
//	Template: an immutable program, shared between goroutines (template.go, cache.go)
//	   │  Render: one state with its meter, buffers and argument stack (state.go, meter.go)
//	   │          values (value.go, dict.go …), operators (arith.go, compare.go), attributes and
//	   │          methods (attr.go, method_*.go), filters*.go, tests.go, globals.go
//	   ▼
//	output text, or an *Error with its kind and place
//
// # Values
//
// A Value is one of Python's types: int of any size, float, str, Markup, bool, None, list, tuple, dict in
// order of insertion, range, iterators, macros, a missing value. Values come from FromJSON and the
// constructors; there is no reflection, so a template reaches no Go value, method or file.
//
// # Budget
//
// Everything a template does is counted: steps, bytes before they are allocated, call and syntax depth,
// output, digits of ints, time. See Budget. A template that wants more gets an error of KindBudget.
package jinja
