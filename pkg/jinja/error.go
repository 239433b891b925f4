package jinja

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind says at which stage, and by which rule, a template failed.
type Kind string

// The kinds of failure.
const (
	// KindSyntax is found by Compile: the template cannot be parsed, or names an unknown filter or test.
	KindSyntax Kind = "syntax"
	// KindUndefined is raised by an operation on a missing value.
	KindUndefined Kind = "undefined"
	// KindRuntime is any other failure while rendering: wrong types, division by zero, refused access.
	KindRuntime Kind = "runtime"
	// KindBudget is raised when a template asks for more than its budget gives.
	KindBudget Kind = "budget"
)

// Error is what Compile and Render return when a template fails.
// Line and Column count from one, the column in characters; both are zero when no place is known.
type Error struct {
	Kind Kind
	// Type is Python's name of the exception, such as "TypeError", or "BudgetError".
	Type    string
	Message string
	Line    int
	Column  int
	// Source is the source line on which the error lies, without its line break.
	Source string

	class errClass
}

// Error tells kind, place and message in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Kind))
	b.WriteString(" error")
	if e.Line > 0 {
		fmt.Fprintf(&b, " at line %d, column %d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Kind == KindRuntime && e.Type != "" {
		b.WriteString(e.Type)
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	return b.String()
}

// errClass is the class of a Python exception, so far as the engine must tell them apart.
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

// isClass tells whether err is an exception of one of the classes.
func isClass(err error, classes ...errClass) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	return slices.Contains(classes, e.class)
}

// isLookupErr tells whether Jinja's attribute look-up swallows err: TypeError and LookupError.
func isLookupErr(err error) bool { return isClass(err, classType, classKey, classIndex) }

// place sets the place of err unless a deeper node has set it already.
func place(err error, src *source, p pos) error {
	var e *Error
	if errors.As(err, &e) && e.Line == 0 && p >= 0 {
		e.Line, e.Column, e.Source = src.locate(p)
	}
	return err
}

// hostErr makes an *Error of a host's error.
func hostErr(err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return otherErr("FilterError", "%s", err.Error())
}
