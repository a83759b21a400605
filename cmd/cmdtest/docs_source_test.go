package cmdtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"markmill/runs"
)

// apart are the structs that have a section of their own wherever they stand.
var apart = []reflect.Type{reflect.TypeFor[runs.ChangedFile](), reflect.TypeFor[runs.ParamData](),
	reflect.TypeFor[runs.Blocker](),
	reflect.TypeFor[runs.TestCounts](), reflect.TypeFor[runs.ScrapData](), reflect.TypeFor[runs.Terms]()}

// fields lists the JSON names of a struct, and of the structs of this module in it.
func fields(of reflect.Type) []string {
	var names []string
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); !of.Field(i).Anonymous {
			names = append(names, name)
		}
		inner := of.Field(i).Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && strings.HasPrefix(inner.PkgPath(), "markmill/") &&
			!slices.Contains(apart, inner) {
			names = append(names, fields(inner)...)
		}
	}
	return names
}

// declarations are the variables and constants of a Go file, by name.
func declarations(t *testing.T, file string) map[string]*ast.ValueSpec {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*ast.ValueSpec{}
	for _, decl := range parsed.Decls {
		if general, ok := decl.(*ast.GenDecl); ok {
			for _, spec := range general.Specs {
				if value, ok := spec.(*ast.ValueSpec); ok {
					for _, name := range value.Names {
						found[name.Name] = value
					}
				}
			}
		}
	}
	return found
}

// constants are the texts of the constants whose name begins with a prefix and a capital.
func constants(t *testing.T, file, prefix string) []string {
	return selected(t, file, func(name string, _ *ast.ValueSpec) bool {
		rest, ok := strings.CutPrefix(name, prefix)
		return ok && rest != "" && unicode.IsUpper(rune(rest[0]))
	})
}

// typedConstants are the texts of the constants of a type.
func typedConstants(t *testing.T, file, typeName string) []string {
	return selected(t, file, func(_ string, spec *ast.ValueSpec) bool {
		word, ok := spec.Type.(*ast.Ident)
		return ok && word.Name == typeName
	})
}

func selected(t *testing.T, file string, want func(string, *ast.ValueSpec) bool) []string {
	t.Helper()
	var out []string
	for name, spec := range declarations(t, file) {
		if want(name, spec) && len(spec.Values) == 1 {
			out = append(out, texts(spec.Values[0])...)
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no such constants", file)
	}
	slices.Sort(out)
	return out
}

// tableKeys are the keys of a map literal that are texts.
func tableKeys(t *testing.T, file, name string) []string {
	t.Helper()
	var out []string
	if literal, ok := variable(t, file, name).(*ast.CompositeLit); ok {
		for _, element := range literal.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				out = append(out, texts(pair.Key)...)
			}
		}
	}
	return out
}

// tableStrings are all texts of a literal, or of the call that makes a table.
func tableStrings(t *testing.T, file, name string) []string { return texts(variable(t, file, name)) }

func variable(t *testing.T, file, name string) ast.Expr {
	t.Helper()
	spec := declarations(t, file)[name]
	if spec == nil || len(spec.Values) != 1 {
		t.Fatalf("%s does not declare %s", file, name)
	}
	return spec.Values[0]
}

func texts(in ast.Node) []string {
	var out []string
	ast.Inspect(in, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if s, err := strconv.Unquote(literal.Value); err == nil && s != "" {
				out = append(out, s)
			}
		}
		return true
	})
	return out
}

func without(list []string, gone ...string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return slices.Contains(gone, s) })
}
