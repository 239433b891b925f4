package layout_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// withoutSubtests returns the loops over cases that check each case in the test itself. Such a loop ends at its first bad case, which
// hides the others, and a case cannot be run alone.
//
// A case is a literal struct in a slice or a map. A loop checks when it calls require, or Error or Fatal of a test.
func withoutSubtests(t *testing.T, path string, text []byte) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	var found []string
	for _, decl := range file.Decls {
		test, ok := decl.(*ast.FuncDecl)
		if !ok || test.Body == nil || !strings.HasPrefix(test.Name.Name, "Test") || !takesTest(test) {
			continue
		}
		tables := map[string]bool{} // Variables.
		ast.Inspect(test.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return !takesRapid(n) // Its test has no subtests.
			case *ast.AssignStmt:
				if name, ok := n.Lhs[0].(*ast.Ident); ok && len(n.Lhs) == 1 && isTable(n.Rhs[0]) {
					tables[name.Name] = true
				}
			case *ast.RangeStmt:
				name, ok := n.X.(*ast.Ident)
				if (isTable(n.X) || ok && tables[name.Name]) && !calls(n.Body, "Run") && calls(n.Body, "Error", "Errorf", "Fatal", "Fatalf", "require", "synctest") {
					found = append(found, fmt.Sprintf("%s: %s checks cases without t.Run", set.Position(n.Pos()), test.Name.Name))
				}
			}
			return true
		})
	}
	return found
}

// takesTest reports whether a function has a parameter *testing.T. Others have no subtests.
func takesTest(f *ast.FuncDecl) bool { return takes(f.Type, "testing") }

func takesRapid(f *ast.FuncLit) bool { return takes(f.Type, "rapid") }

// takes reports whether a function has a parameter *T of a package.
func takes(f *ast.FuncType, pkg string) bool {
	for _, p := range f.Params.List {
		pointer, ok := p.Type.(*ast.StarExpr)
		if !ok {
			continue
		}
		if name, ok := pointer.X.(*ast.SelectorExpr); ok && name.Sel.Name == "T" {
			if from, ok := name.X.(*ast.Ident); ok && from.Name == pkg {
				return true
			}
		}
	}
	return false
}

// isTable reports whether an expression is a literal of at least two cases.
func isTable(e ast.Expr) bool {
	literal, ok := e.(*ast.CompositeLit)
	if !ok || len(literal.Elts) < 2 {
		return false
	}
	var element ast.Expr
	switch kind := literal.Type.(type) {
	case *ast.ArrayType:
		element = kind.Elt
	case *ast.MapType:
		element = kind.Value
	}
	_, ok = element.(*ast.StructType)
	return ok
}

// calls reports whether a loop calls a method of one of these names, or a function of a package of one of them. Calls in function literals
// do not count: a loop may start goroutines.
func calls(body ast.Node, names ...string) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if _, isFunc := n.(*ast.FuncLit); isFunc {
			return false
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		receiver, _ := method.X.(*ast.Ident)
		for _, name := range names {
			found = found || method.Sel.Name == name || receiver != nil && receiver.Name == name
		}
		return true
	})
	return found
}

func TestTablesHaveSubtests(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !s.isTest() || !s.written() {
			continue
		}
		for _, mistake := range withoutSubtests(t, s.path, s.text) {
			t.Error(mistake)
		}
	}
}

func TestWithoutSubtests(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body string
		want int
	}{
		"slice":            {"for _, c := range []struct{a int}{{1}, {2}} { require.Zero(t, c.a) }", 1},
		"map":              {`for _, c := range map[string]struct{a int}{"a": {1}, "b": {2}} { t.Error(c) }`, 1},
		"variable":         {"cases := []struct{a int}{{1}, {2}}\nfor _, c := range cases { require.Zero(t, c.a) }", 1},
		"subtests":         {"for _, c := range []struct{a int}{{1}, {2}} { t.Run(name, func(t *testing.T) { require.Zero(t, c.a) }) }", 0},
		"preparation":      {"for _, c := range []struct{a int}{{1}, {2}} { insert(c) }", 0},
		"goroutines":       {"for _, c := range []struct{a int}{{1}, {2}} { group.Go(func() { require.Zero(t, c.a) }) }", 0},
		"list of values":   {"for _, c := range []int{1, 2} { require.Zero(t, c) }", 0},
		"list of one case": {"for _, c := range []struct{a int}{{1}} { require.Zero(t, c.a) }", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Len(t, withoutSubtests(t, "x_test.go", []byte("package x\nfunc TestX(t *testing.T) {\n"+test.body+"\n}")), test.want)
		})
	}
	require.Empty(t, withoutSubtests(t, "x_test.go", []byte("package x\nfunc check(w *world) { for range []struct{a int}{{1}, {2}} { require.Zero(w, 1) } }")))
}
