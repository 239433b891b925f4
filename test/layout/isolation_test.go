package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// scans are the reads of documents of all workspaces, by the names of their methods in package store.
var scans = map[string]bool{
	"EachAcross": true, "EachRevision": true, "FindAcross": true, "Due": true, "DueAgain": true, "DueInFuture": true,
}

// A loop over workspaces or documents in background work must not end at the first failure: the others would wait for ever. It
// records each result in an isolation.Pass, which ends the loop in an outage only.
//
// The test finds the loops of functions that scan all workspaces, loops over maps with a workspace as the key, and loops over
// collections. Within them, and within the visitor of a scan, a return of an error must be the result of Record.
func TestBackgroundLoopsGoOnAfterAFailure(t *testing.T) {
	t.Parallel()
	// Commands of an operator are no background work. A conversion is all or nothing, and is run again. The command that encrypts anew
	// gives its loops a function that records each failure.
	command := regexp.MustCompile(`^services/orchestration/internal/(conversion/|\w+/reencrypt\.go$)`)
	for _, s := range sources(t) {
		if s.isTest() || command.MatchString(s.path) || !strings.HasPrefix(s.path, "services/orchestration/internal/") || strings.HasPrefix(s.path, "services/orchestration/internal/store/") {
			continue
		}
		for _, found := range endingLoops(t, s.path, s.text) {
			t.Errorf("%s: a loop over workspaces or documents ends at its first failure: record the results in an isolation.Pass", found)
		}
	}
}

func TestEndingLoopsAreFound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body  string
		found int
	}{
		"a loop over what a scan found": {`
			found, err := c.FindAcross(ctx, store.Query{})
			if err != nil { return err }
			for _, one := range found { if err := do(one); err != nil { return err } }
			return nil`, 1},
		"a result with a value": {`
			found, _ := c.FindAcross(ctx, store.Query{})
			for _, one := range found { if err := do(one); err != nil { return 0, fmt.Errorf("do: %w", err) } }
			return 0, nil`, 1},
		"the visitor of a scan": {`
			return c.EachAcross(ctx, store.Query{}, func(ws uuid.UUID, m M) error { return do(ws, m) })`, 1},
		"a visitor that collects": {`
			return c.EachAcross(ctx, store.Query{}, func(ws uuid.UUID, m M) error { list = append(list, m); return nil })`, 0},
		"a visitor that records": {`
			return c.EachAcross(ctx, store.Query{}, func(ws uuid.UUID, m M) error { return pass.Record(do(ws, m), "workspace", ws) })`, 0},
		"a map of workspaces": {`
			byWorkspace := map[uuid.UUID][]*planned{}
			for ws, list := range byWorkspace { if err := do(ws, list); err != nil { return err } }
			return nil`, 1},
		"a loop that records": {`
			found, _ := c.FindAcross(ctx, store.Query{})
			for _, one := range found { if pass.Record(do(one), "id", one.ID) != nil { break } }
			return pass.Err()`, 0},
		"a loop that returns what the pass says": {`
			found, _ := c.FindAcross(ctx, store.Query{})
			for _, one := range found { if pass.Record(do(one)) != nil { return pass.Err() } }
			return nil`, 0},
		"a loop over collections": {`
			for _, collection := range r.collections { if err := r.sweep(ctx, collection); err != nil { return err } }
			return nil`, 1},
		"a loop over collections of a call": {`
			for _, collection := range hostedCollections() { if err := r.sweep(ctx, collection); err != nil { return false, err } }
			return true, nil`, 1},
		"a loop over collections that joins the failures": {`
			for _, collection := range r.collections { failures = append(failures, r.sweep(ctx, collection)) }
			return errors.Join(failures...)`, 0},
		"another loop": {`
			for _, one := range list { if err := do(one); err != nil { return err } }
			return nil`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Len(t, endingLoops(t, "f.go", []byte("package p\nfunc f() error {"+test.body+"\n}")), test.found)
		})
	}
}

// endingLoops returns the positions at which loops of background work return errors that no pass has recorded.
func endingLoops(t *testing.T, path string, text []byte) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		scanning := hasScan(f.Body)
		workspaces := workspaceMaps(f.Body)
		ast.Inspect(f.Body, func(n ast.Node) bool {
			var body ast.Node
			switch n := n.(type) {
			case *ast.RangeStmt:
				over, isName := n.X.(*ast.Ident)
				if isName && workspaces[over.Name] || scanning && scans[assigned(f.Body, n.X)] || overCollections(n.X) {
					body = n.Body
				}
			case *ast.CallExpr:
				if scans[called(n)] && len(n.Args) > 0 {
					if visit, ok := n.Args[len(n.Args)-1].(*ast.FuncLit); ok {
						body = visit.Body
					}
				}
			}
			if body != nil {
				for _, at := range failingReturns(body) {
					found = append(found, files.Position(at).String())
				}
			}
			return true
		})
	}
	return found
}

// overCollections reports whether a loop is over collections of the store, by the name of the variable, the field or the call.
func overCollections(e ast.Expr) bool {
	name := ""
	switch e := e.(type) {
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		name = e.Sel.Name
	case *ast.CallExpr:
		name = called(e)
	}
	return strings.HasSuffix(strings.ToLower(name), "collections")
}

// called is the name of the method or function of a call.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

func hasScan(body ast.Node) (scan bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && scans[called(c)] {
			scan = true
		}
		return !scan
	})
	return scan
}

// workspaceMaps are the variables of a function that are maps with an id as the key and are filled from scans or batches: maps whose
// names say that they are by workspace.
func workspaceMaps(body ast.Node) map[string]bool {
	maps := map[string]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			for i, left := range a.Lhs {
				name, ok := left.(*ast.Ident)
				if !ok || i >= len(a.Rhs) {
					continue
				}
				if lit, ok := a.Rhs[i].(*ast.CompositeLit); ok {
					if m, ok := lit.Type.(*ast.MapType); ok && isUUID(m.Key) && byWorkspace(name.Name) {
						maps[name.Name] = true
					}
				}
			}
		}
		return true
	})
	return maps
}

func byWorkspace(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "workspace") || strings.Contains(name, "space") || strings.Contains(name, "tenant")
}

func isUUID(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "UUID"
}

// assigned is the scan whose result a variable has, or that fills it by its visitor; empty if there is none.
func assigned(body ast.Node, e ast.Expr) (scan string) {
	name, ok := e.(*ast.Ident)
	if !ok {
		return ""
	}
	ast.Inspect(body, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || len(a.Rhs) != 1 {
			return true
		}
		c, ok := a.Rhs[0].(*ast.CallExpr)
		if !ok || !scans[called(c)] {
			return true
		}
		if left, ok := a.Lhs[0].(*ast.Ident); ok && left.Name == name.Name || fills(c, name.Name) {
			scan = called(c)
		}
		return true
	})
	return scan
}

// fills reports whether the visitor of a scan assigns to a variable, or to an element of it.
func fills(scan *ast.CallExpr, name string) (filled bool) {
	ast.Inspect(scan.Args[len(scan.Args)-1], func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for _, left := range a.Lhs {
			if element, ok := left.(*ast.IndexExpr); ok {
				left = element.X
			}
			if v, ok := left.(*ast.Ident); ok && v.Name == name {
				filled = true
			}
		}
		return true
	})
	return filled
}

// sentinel is the name of an error that a function declares to end its own loop.
var sentinel = regexp.MustCompile(`^err[A-Z]`)

// failingReturns are the returns of a body whose last result is neither nil, a sentinel nor the error of a pass. The returns of function
// literals in it belong to the literals.
func failingReturns(body ast.Node) (found []token.Pos) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if len(n.Results) == 0 {
				return true
			}
			switch last := n.Results[len(n.Results)-1].(type) {
			case *ast.Ident:
				if last.Name == "nil" || last.Name == "false" || last.Name == "true" || sentinel.MatchString(last.Name) {
					return true
				}
			case *ast.CallExpr:
				switch called(last) {
				case "Record", "Err", "Outage":
					return true
				}
			}
			found = append(found, n.Pos())
		}
		return true
	})
	return found
}
