package documents_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// rowsOf returns the cells of the table of a section of docs/guarantees.md.
func rowsOf(t *testing.T, section string) (rows [][]string) {
	t.Helper()
	_, text, found := strings.Cut(read(t, "docs", "guarantees.md"), "\n## "+section+"\n")
	require.True(t, found, section)
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") {
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	require.NotEmpty(t, rows)
	return rows[1:] // Without the heading.
}

// goFiles parses the Go files of a directory: tests or others.
func goFiles(t *testing.T, set *token.FileSet, dir string, tests bool) (parsed []*ast.File) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, file := range found {
		if strings.HasSuffix(file, "_test.go") != tests {
			continue
		}
		f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		parsed = append(parsed, f)
	}
	return parsed
}

// constants are the constants of a package that depend on no other package.
func constants(t *testing.T, dir string) map[string]constant.Value {
	t.Helper()
	set := token.NewFileSet()
	config := types.Config{Error: func(error) {}, Importer: nil} // Imports are unknown: their constants are left out.
	checked, _ := config.Check(dir, set, goFiles(t, set, filepath.Join(root, dir), false), nil)
	values := map[string]constant.Value{}
	for _, name := range checked.Scope().Names() {
		if c, ok := checked.Scope().Lookup(name).(*types.Const); ok && c.Val().Kind() != constant.Unknown {
			values[name] = c.Val()
		}
	}
	return values
}

var (
	mebibytes = regexp.MustCompile(`^(\d+) MiB`)
	harness   = regexp.MustCompile(`testkit\.FillBound\(t, "([^"]+)"`)
	bounding  = regexp.MustCompile(`^[mM]ax\w*(?:Bytes|Memory)$`)
)

// besides are the bounds in bytes that are no row, with the reason.
var besides = map[string]string{
	"pkg/broker.MaxFrameBytes":                            "a part of a batch",
	"pkg/broker.MaxEventBytes":                            "a part of a batch",
	"pkg/logs.maxFeedBytes":                               "a message of a lossy feed",
	"pkg/webhook/render.maxRelatedMemory":                 "a part of the budget for bodies",
	"pkg/webhook/render.maxEventMemory":                   "a part of the budget for bodies",
	"services/gateway.maxHeaderBytes":                     "a connection has no tenant yet",
	"services/hooks.maxHeaderBytes":                       "a connection has no tenant yet",
	"services/gateway/internal/stream.maxBatchBytes":      "a socket is not read beyond it",
	"services/gateway/internal/web/fragment.maxBytes":     "a cache that drops what was used least",
	"services/orchestration/internal/parameters.MaxBytes": "a field of one document",

	"services/orchestration/internal/automations/action.maxCollectedBytes": "a field of one document",
	"services/orchestration/internal/automations/action.maxKeyBytes":       "a digest of it is stored",
}

// Each bound has the value of its constant, and its test fills it by the harness. A constant that bounds bytes has a row.
func TestBoundsInBytesAreThoseOfTheSource(t *testing.T) {
	t.Parallel()
	filled := map[string]string{} // The test file of each name.
	for _, dir := range []string{"pkg", "services"} {
		for _, file := range files(t, filepath.Join(root, dir), "_test.go") {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, call := range harness.FindAllStringSubmatch(string(text), -1) {
				filled[call[1]] = string(text)
			}
		}
	}
	documented := map[string]bool{}
	for _, row := range rowsOf(t, "Bounds in bytes") {
		require.Len(t, row, 5, row[0])
		bound := mebibytes.FindStringSubmatch(row[1])
		require.NotNil(t, bound, "%s: the bound begins with a number of MiB", row[0])
		mib, err := strconv.ParseInt(bound[1], 10, 64)
		require.NoError(t, err)
		limit := strings.Trim(row[3], "`")
		documented[limit] = true
		dir, name, _ := strings.Cut(filepath.Base(limit), ".")
		value, ok := constants(t, filepath.Join(filepath.Dir(limit), dir))[name]
		require.True(t, ok, "%s is no constant", limit)
		n, exact := constant.Int64Val(constant.ToInt(value))
		require.True(t, exact, limit)
		require.Equal(t, mib<<20, n, "the bound of %s", row[0])
		require.Contains(t, filled[row[0]], "func "+strings.Trim(row[4], "`")+"(", "%s: its test calls testkit.FillBound with this name", row[0])
		delete(filled, row[0])
	}
	require.Empty(t, filled, "these bounds have no row")
	source := boundsOfTheSource(t)
	for bound := range besides {
		require.Contains(t, source, bound, "an exception without a constant")
	}
	for _, bound := range source {
		require.True(t, documented[bound] || besides[bound] != "", "%s bounds bytes and has no row in docs/guarantees.md", bound)
	}
}

// boundsOfTheSource are the constants whose names say that they bound bytes.
func boundsOfTheSource(t *testing.T) (found []string) {
	t.Helper()
	for _, tree := range []string{"pkg", "services"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, tree), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			dir, err := filepath.Rel(root, path)
			if dir == filepath.Join("pkg", "embeddedmongo") { // It does not know tenants.
				return fs.SkipDir
			}
			for _, file := range goFiles(t, token.NewFileSet(), path, false) {
				for _, decl := range file.Decls {
					group, ok := decl.(*ast.GenDecl)
					if !ok || group.Tok != token.CONST {
						continue
					}
					for _, spec := range group.Specs {
						for _, name := range spec.(*ast.ValueSpec).Names {
							if bounding.MatchString(name.Name) {
								found = append(found, filepath.ToSlash(dir)+"."+name.Name)
							}
						}
					}
				}
			}
			return err
		}))
	}
	require.NotEmpty(t, found)
	return found
}

// opened are the streams, buckets and journals that the sources open, by their kinds and names. An opening whose name is no constant of
// a package fails the test.
func opened(t *testing.T) (found []string) {
	t.Helper()
	kinds := map[string]string{"KeyValue": "bucket", "Journal": "journal"}
	for _, file := range append(files(t, filepath.Join(root, "services"), ".go"), files(t, filepath.Join(root, "pkg"), ".go")...) {
		if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "brokertest") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 3 {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || kinds[method.Sel.Name] == "" {
				return true
			}
			name := ""
			switch arg := call.Args[1].(type) {
			case *ast.BasicLit:
				name, _ = strconv.Unquote(arg.Value)
			case *ast.Ident:
				name = text(constants(t, rel(t, filepath.Dir(file)))[arg.Name])
			case *ast.SelectorExpr:
				for _, imported := range f.Imports {
					path, _ := strconv.Unquote(imported.Path.Value)
					if dir, ours := strings.CutPrefix(path, "github.com/orch-project/orch/"); ours && filepath.Base(dir) == arg.X.(*ast.Ident).Name {
						name = text(constants(t, dir)[arg.Sel.Name])
					}
				}
			}
			require.NotEmpty(t, name, "%s: the name is no constant", set.Position(call.Pos()))
			found = append(found, kinds[method.Sel.Name]+" `"+name+"`")
			return true
		})
	}
	for name, value := range constants(t, filepath.Join("pkg", "broker")) {
		if strings.HasPrefix(name, "Stream") {
			found = append(found, "stream `"+text(value)+"`")
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func text(value constant.Value) string {
	if value == nil || value.Kind() != constant.String {
		return ""
	}
	return constant.StringVal(value)
}

func rel(t *testing.T, dir string) string {
	t.Helper()
	dir, err := filepath.Rel(root, dir)
	require.NoError(t, err)
	return dir
}

// Each stream, bucket and journal that the sources open has a row, whose gauge exists and has an alert at 80 %.
func TestQueuesHaveGaugesAndAlerts(t *testing.T) {
	t.Parallel()
	var alerts struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "deploy", "monitoring", "alerts.yaml")), &alerts))
	require.Len(t, alerts.Groups, 1)
	expressions := map[string]string{}
	for _, rule := range alerts.Groups[0].Rules {
		expressions[rule.Alert] = rule.Expr
	}
	metrics := names(explains, read(t, "docs", "operations.md"))
	var rows []string
	for _, row := range rowsOf(t, "Queues, streams and buckets") {
		require.Len(t, row, 5, row[0])
		gauge, alert := strings.Trim(row[2], "`"), strings.Trim(row[3], "`")
		require.True(t, metrics[gauge], "%s: %s is no metric of docs/operations.md", row[0], gauge)
		require.Contains(t, expressions[alert], gauge, "%s: the alert %s", row[0], alert)
		require.Contains(t, expressions[alert], "> 0.8", "%s: the alert %s", row[0], alert)
		require.Regexp(t, tests, row[4], "%s: its test", row[0])
		if !strings.HasPrefix(row[0], "queue ") {
			rows = append(rows, row[0])
		}
	}
	slices.Sort(rows)
	require.Equal(t, opened(t), rows)
}
