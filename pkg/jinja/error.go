package jinja

import (
	"errors"
	"fmt"
	"slices"
)

// Kind classifies an error by stage and rule.
type Kind string

// The kinds of failure.
const (
	// KindSyntax is an error of Compile: invalid syntax, or an unknown filter or test.
	KindSyntax Kind = "syntax"
	// KindUndefined is an operation on an undefined value.
	KindUndefined Kind = "undefined"
	// KindRuntime is any other failure while rendering: wrong types, division by zero, refused access.
	KindRuntime Kind = "runtime"
	// KindBudget means that a template exceeds its budget.
	KindBudget Kind = "budget"
)

// Error is the error of Compile and Render. Line and Column count from 1, Column in characters; both are 0 without a position.
type Error struct {
	Kind Kind
	// Type is the name of the Python exception, such as "TypeError", or "BudgetError".
	Type    string
	Message string
	Line    int
	Column  int
	// Missing names the value that the template looked up in vain, such as "body.device has no name"; empty for other errors.
	Missing string
	// Source is the line of the template with the error, without its line break.
	Source string

	class errClass
	cause error
}

// Unwrap returns the host's error that stopped the rendering, nil if there is none.
func (e *Error) Unwrap() error { return e.cause }

// Error returns kind, position and message in one line.
func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s error at line %d, column %d: %s", e.Kind, e.Line, e.Column, e.reason())
	}
	return fmt.Sprintf("%s error: %s", e.Kind, e.reason())
}

// Explain returns the message for the template's author, without the position.
func (e *Error) Explain() string {
	if e.Missing != "" {
		return e.Missing
	}
	return fmt.Sprintf("%s error: %s", e.Kind, e.reason())
}

func (e *Error) reason() string {
	if e.Kind == KindRuntime && e.Type != "" {
		return e.Type + ": " + e.Message
	}
	return e.Message
}

// errClass is the class of a Python exception, as far as the engine distinguishes classes.
type errClass uint8

const (
	classOther errClass = iota
	classType
	classValue
	classKey
	classIndex
	classAttribute
	classOverflow
	classUndefined
	classBudget
)

func newError(kind Kind, class errClass, name, format string, args ...any) *Error {
	msg := format
	if len(args) > 0 {
		msg = fmt.Sprintf(format, args...)
	}
	return &Error{Kind: kind, Type: name, Message: msg, class: class}
}

func typeErr(format string, args ...any) error {
	return newError(KindRuntime, classType, "TypeError", format, args...)
}

func valueErr(format string, args ...any) error {
	return newError(KindRuntime, classValue, "ValueError", format, args...)
}

func keyErr(key string) error {
	return newError(KindRuntime, classKey, "KeyError", "%s", key)
}

func indexErr(format string, args ...any) error {
	return newError(KindRuntime, classIndex, "IndexError", format, args...)
}

func attributeErr(format string, args ...any) error {
	return newError(KindRuntime, classAttribute, "AttributeError", format, args...)
}

func overflowErr(format string, args ...any) error {
	return newError(KindRuntime, classOverflow, "OverflowError", format, args...)
}

func zeroDivErr(msg string) error {
	return newError(KindRuntime, classOther, "ZeroDivisionError", "%s", msg)
}

func filterArgErr(format string, args ...any) error {
	return newError(KindRuntime, classOther, "FilterArgumentError", format, args...)
}

func templateErr(format string, args ...any) error {
	return newError(KindRuntime, classOther, "TemplateRuntimeError", format, args...)
}

func otherErr(name, format string, args ...any) error {
	return newError(KindRuntime, classOther, name, format, args...)
}

func budgetErr(format string, args ...any) error {
	return newError(KindBudget, classBudget, "BudgetError", format, args...)
}

// isClass reports whether err is an exception of one of the classes.
func isClass(err error, classes ...errClass) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	return slices.Contains(classes, e.class)
}

// isLookupErr reports whether Jinja's attribute look-up swallows err: TypeError and LookupError.
func isLookupErr(err error) bool { return isClass(err, classType, classKey, classIndex) }

// locate sets the position of err unless a deeper node has set it.
func locate(err error, src *source, p pos) error {
	var e *Error
	if errors.As(err, &e) && e.Line == 0 && p >= 0 {
		e.Line, e.Column, e.Source = src.locate(p)
	}
	return err
}

// hostErr returns an *Error for an error of the host.
func hostErr(err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return otherErr("FilterError", "%s", err.Error())
}
