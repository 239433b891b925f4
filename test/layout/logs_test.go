package layout_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// logMethods are the methods of a slog.Logger that write a message, with the index of the message among the arguments.
var logMethods = map[string]int{
	"Debug": 0, "Info": 0, "Warn": 0, "Error": 0,
	"DebugContext": 1, "InfoContext": 1, "WarnContext": 1, "ErrorContext": 1,
	"Log": 2, "LogAttrs": 2,
}

// fails are the methods for failures. An event at a lower level may have an error as its reason.
var fails = map[string]bool{"Warn": true, "Error": true, "WarnContext": true, "ErrorContext": true, "Log": true, "LogAttrs": true}

// statesWithError are messages of a condition that has an error as its reason. The server has not attempted anything that failed.
var statesWithError = map[string]bool{
	"disconnected from the broker": true, // The connection was lost; the client had attempted nothing.
}

// gerund matches a message that says neither whether an operation failed nor whether it ended.
var gerund = regexp.MustCompile(`^[a-z]{2,}ing `)

// logMistakes returns what is wrong with the log messages of a file.
//
//   - A warning or an error with the attribute "error" is "failed to X", because operators search for "failed".
//   - No message begins with a gerund: "creating a consumer" may be an attempt, a success or a failure.
//   - A message is constant, so that operators can group by it. Values are attributes.
func logMistakes(t *testing.T, path string, text []byte) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		at, ok := logMethods[method.Sel.Name]
		if !ok || len(call.Args) <= at || !isLogger(method.X) {
			return true
		}
		report := func(format string, args ...any) {
			found = append(found, fmt.Sprintf("%s: %s", set.Position(call.Pos()), fmt.Sprintf(format, args...)))
		}
		message, constant := literal(call.Args[at])
		if !constant {
			report("the message is not constant: make its values attributes")
			return true
		}
		switch {
		case gerund.MatchString(message):
			report("%q begins with a gerund: write \"failed to X\" for a failure, and the past tense for an event", message)
		case fails[method.Sel.Name] && hasError(call.Args[at+1:]) && !statesWithError[message] && !strings.HasPrefix(message, "failed to "):
			report("%q has an error and does not begin with \"failed to\"", message)
		}
		return true
	})
	return found
}

// isLogger reports whether an expression is a logger by the names of this repository: log, logger, x.log, x.Log, slog.Default().
func isLogger(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return slices.Contains([]string{"log", "logger", "slog"}, x.Name)
	case *ast.SelectorExpr:
		return slices.Contains([]string{"log", "Log", "logger", "Logger"}, x.Sel.Name)
	case *ast.CallExpr:
		if f, ok := x.Fun.(*ast.SelectorExpr); ok {
			return slices.Contains([]string{"With", "WithGroup", "Default"}, f.Sel.Name) && isLogger(f.X)
		}
	}
	return false
}

func literal(x ast.Expr) (string, bool) {
	l, ok := x.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

// hasError reports whether the attributes of a log line have the key "error".
func hasError(attributes []ast.Expr) bool {
	return slices.ContainsFunc(attributes, func(x ast.Expr) bool {
		if call, ok := x.(*ast.CallExpr); ok && len(call.Args) > 0 { // slog.Any("error", err)
			x = call.Args[0]
		}
		key, ok := literal(x)
		return ok && key == "error"
	})
}

func TestLogMessagesHaveOneGrammar(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.isTest() || !s.written() || !strings.HasPrefix(s.path, "pkg/") && !strings.HasPrefix(s.path, "services/") {
			continue
		}
		for _, mistake := range logMistakes(t, s.path, s.text) {
			t.Error(mistake)
		}
	}
}

func TestLogMistakes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		call string
		want int
	}{
		"failure":                       {`log.Error("failed to take lease", "error", err)`, 0},
		"failure with a context":        {`s.log.WarnContext(ctx, "failed to take lease", "lease", name, "error", err)`, 0},
		"event":                         {`log.Info("created consumer", "stream", name)`, 0},
		"failure without failed":        {`log.Warn("take lease", "error", err)`, 1},
		"failure with an attribute":     {`log.LogAttrs(ctx, level, "take lease", slog.Any("error", err))`, 1},
		"failure of a derived logger":   {`log.With("a", 1).Error("lease is lost", "error", err)`, 1},
		"gerund":                        {`log.Error("creating a consumer", "error", err)`, 1},
		"gerund without an error":       {`log.Info("waiting for the broker")`, 1},
		"message with a value":          {`log.Info("created " + name)`, 1},
		"method that is not a logger's": {`t.Error("take lease", "error", err)`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Len(t, logMistakes(t, "x.go", []byte("package x\nfunc f() { "+test.call+" }")), test.want)
		})
	}
}
