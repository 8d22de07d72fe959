package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// How large a type and a function may be. A larger one does several things: give one of them
// a type or a function of its own.
const (
	mostMethods = 40
	mostLines   = 100
)

// TestTypesAndFunctionsAreOfASize counts the methods of each type and the lines of each
// function. Tests and the suites that drivers run may be longer: they are lists of cases, each
// of which can be read without the others.
func TestTypesAndFunctionsAreOfASize(t *testing.T) {
	t.Parallel()
	methods := map[string]int{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "..":
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := set.Position(f.End()).Line - set.Position(f.Pos()).Line - 1; n > mostLines && !exempt(filepath.Dir(path)) {
				t.Errorf("%s: %s has %d lines, %d are the most", path, f.Name.Name, n, mostLines)
			}
			if f.Recv != nil {
				methods[filepath.Dir(path)+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods, %d are the most", name, n, mostMethods)
		}
	}
}

// receiver returns the name of the type that a method is of.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return "?"
}
