package notebooks_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEveryExpressionCompiles compiles every expression of the module that is kept for later: a
// mistake in one would only show when it is first used.
func TestEveryExpressionCompiles(t *testing.T) {
	count := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, src, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || string(src[call.Fun.Pos()-1:call.Fun.End()-1]) != "lazyregexp.New" {
				return true
			}
			count++
			expr, ok := literal(call.Args[0])
			if strings.HasSuffix(path, "notebooks/keys/forms.go") {
				return true // made of a table, which its own test compiles
			}
			if !ok {
				t.Errorf("%s: an expression that is no literal", path)
			} else if _, err := regexp.Compile(expr); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count < 20 {
		t.Errorf("only %d expressions were found: the test looks in the wrong place", count)
	}
}

// literal returns the text of a string literal, or of several joined by +.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		a, okA := literal(e.X)
		b, okB := literal(e.Y)
		return a + b, okA && okB
	}
	return "", false
}
