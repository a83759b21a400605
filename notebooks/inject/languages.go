package inject

import (
	"fmt"
	"strings"

	"markmill/notebooks"
	"markmill/notebooks/lazyregexp"
)

// Names as the languages have them: Python's reference 2.3 (for Scala, C# and F# the same but for rare signs), Julia's
// manual ("Allowed Variable Names"), R's definition 10.3.2, about_Variables of PowerShell, "Variable Names" of MATLAB,
// and POSIX.
var (
	letters    = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	matlab     = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_]*$`)
	unicode    = lazyregexp.New(`^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}]*$`)
	julia      = lazyregexp.New(`^[\p{L}\p{Nl}_][\p{L}\p{M}\p{N}\p{Pc}!]*$`)
	dotted     = lazyregexp.New(`^(?:\p{L}|\.\.?(?:[\p{L}_]|$)|\.\.\.[\p{L}\p{Nd}._])[\p{L}\p{Nd}._]*$`)
	powershell = lazyregexp.New(`^[\p{L}_][\p{L}\p{Nd}_]*$`)
)

// languages are those that papermill knows.
var languages = []language{
	{
		names: []string{"python", "python3", "python2", "py", "ipython"}, comment: "# %s",
		assign: "%s = %s", null: "None",
		yes: "True", no: "False",
		nan: [3]string{"float('nan')", "float('inf')", "float('-inf')"}, text: pythonText.quote, integer: plainInteger,
		list: around("[", "]"), entries: pythonMap, name: unicode,
		words: "False None True and as assert async await break class continue def del elif else except finally for " +
			"from global if import in is lambda nonlocal not or pass raise return try while with yield",
	},
	{
		names: []string{"r", "ir"}, comment: "# %s", assign: "%s = %s", null: "NULL", yes: "TRUE", no: "FALSE",
		nan:  [3]string{"NaN", "Inf", "-Inf"},
		text: rText.quote, integer: exact, list: around("list(", ")"),
		entries: mapped("list(", "%s = %s", ", ", ")"),
		name:    dotted, quoted: "`%s`",
		words: "if else repeat while function for next break TRUE FALSE NULL Inf NaN NA NA_integer_ NA_real_ " +
			"NA_complex_ NA_character_ in",
	},
	{
		names: []string{"scala"}, comment: "// %s", assign: "val %s = %s", null: "None", yes: "true", no: "false",
		nan:  [3]string{"Double.NaN", "Double.PositiveInfinity", "Double.NegativeInfinity"},
		text: scalaText.quote, integer: suffixed(`BigInt("%s")`), list: around("Seq(", ")"),
		entries: mapped("Map(", "%s -> %s", ", ", ")"), name: unicode, quoted: "`%s`",
		words: "abstract case catch class def do else extends false final finally for forSome if implicit import " +
			"lazy macro match new null object override package private protected return sealed super this throw " +
			"trait try true type val var while with yield given enum export then",
		taken: "_",
	},
	{
		names: []string{"julia"}, comment: "# %s", assign: "%s = %s", null: "nothing", yes: "true", no: "false",
		nan:  [3]string{"NaN", "Inf", "-Inf"},
		text: juliaText.quote, integer: plainInteger, list: around("[", "]"),
		entries: mapped("Dict(", "%s => %s", ", ", ")"), name: julia,
		words: "baremodule begin break catch const continue do else elseif end export false finally for function " +
			"global if import let local macro module quote return struct true try using while",
	},
	{
		names: []string{"matlab"}, comment: "%% %s", assign: "%s = %s;", null: "NaN", yes: "true", no: "false",
		nan:  [3]string{"nan", "inf", "-inf"},
		text: matlabQuote, integer: exact, list: around("{", "}"), entries: matlabMap, name: matlab,
		words: "break case catch classdef continue else elseif end for function global if otherwise parfor " +
			"persistent return spmd switch try while",
	},
	{
		names: []string{"c#", "csharp", ".net-csharp"}, comment: "// %s", assign: "var %s = %s;", null: "(object)null",
		yes: "true", no: "false",
		nan:  [3]string{"double.NaN", "double.PositiveInfinity", "double.NegativeInfinity"},
		text: dotnetText.quote, integer: suffixed(`System.Numerics.BigInteger.Parse("%s")`), list: csharpList,
		entries: mapped("new Dictionary<string,Object>{ ", "{ %s , %s }", ", ", " }"), name: unicode, quoted: "@%s",
		words: "abstract as base bool break byte case catch char checked class const continue decimal default " +
			"delegate do double else enum event explicit extern false finally fixed float for foreach goto if " +
			"implicit in int interface internal is lock long namespace new null object operator out override " +
			"params private protected public readonly ref return sbyte sealed short sizeof stackalloc static " +
			"string struct switch this throw true try typeof uint ulong unchecked unsafe ushort using virtual " +
			"void volatile while",
	},
	{
		names: []string{"f#", "fsharp", ".net-fsharp"}, comment: "(* %s *)",
		assign: "let %s = %s", null: "None", yes: "true",
		no: "false", nan: [3]string{"nan", "infinity", "-infinity"},
		text: dotnetText.quote, integer: suffixed("%sI"), list: fsharpList,
		entries: mapped("[ ", "(%s, %s :> IComparable)", "; ", " ] |> Map.ofList"), name: unicode, quoted: "``%s``",
		words: "abstract and as assert base begin class default delegate do done downcast downto elif else end " +
			"exception extern false finally fixed for fun function global if in inherit inline interface " +
			"internal lazy let match member module mutable namespace new null of open or override private " +
			"public rec return sig static struct then to true try type upcast use val void when while with " +
			"yield",
		taken: "_",
	},
	{
		names: []string{"powershell", ".net-powershell", "pwsh"}, comment: "# %s", assign: "$%s = %s", null: "$Null",
		yes: "$True", no: "$False",
		nan:  [3]string{"[double]::NaN", "[double]::PositiveInfinity", "[double]::NegativeInfinity"},
		text: powershellText.quote, integer: powershellInteger, list: around("@(", ")"),
		entries: mapped("@{", "%s = %s", "\n ", "}"), name: powershell, quoted: "{%s}",
		fold:  true,
		taken: "_ args Error false foreach HOME Host input null PID PROFILE PSCulture PSHOME PWD this true switch",
	},
	{
		names: []string{"bash", "sh", "shell"}, comment: "# %s", assign: "%s=%s", yes: "true", no: "false",
		nan:  [3]string{"nan", "inf", "-inf"},
		text: shellQuote, integer: plainInteger, list: shellList, entries: shellMap, name: letters,
		taken: "PATH IFS ENV HOME PWD BASH_ENV UID EUID PPID SHELLOPTS BASHOPTS LD_PRELOAD LD_LIBRARY_PATH " +
			"PROMPT_COMMAND PS0 PS1 PS2 PS4 _",
	},
}

func around(open, end string) func(*writer, []notebooks.Value) (string, error) {
	return func(w *writer, items []notebooks.Value) (string, error) {
		all, err := written(items, w.value)
		return open + strings.Join(all, ", ") + end, err
	}
}

func mapped(open, pair, between, end string) func(*writer, []notebooks.Entry) (string, error) {
	return func(w *writer, entries []notebooks.Entry) (string, error) {
		all, err := w.pairs(entries, pair, func(key notebooks.Value) (string, error) { return w.text(key.String()) })
		return open + strings.Join(all, between) + end, err
	}
}

// suffixed writes integers of 32 bits as they are, of 64 with an L, and larger ones in their own way.
func suffixed(large string) func(string) (string, error) {
	return func(text string) (string, error) {
		switch {
		case fits(text, 31):
			return text, nil
		case fits(text, 63):
			return text + "L", nil
		}
		return fmt.Sprintf(large, text), nil
	}
}

// powershellInteger: what is larger than 64 bits would become a decimal, and then a double.
func powershellInteger(text string) (string, error) {
	if fits(text, 63) {
		return text, nil
	}
	return `[bigint]::Parse("` + text + `")`, nil
}

// pythonMap keeps the types of the keys.
func pythonMap(w *writer, entries []notebooks.Entry) (string, error) {
	all, err := w.pairs(entries, "%s: %s", w.value)
	return "{" + strings.Join(all, ", ") + "}", err
}

func matlabMap(w *writer, entries []notebooks.Entry) (string, error) {
	keys, values := make([]string, len(entries)), make([]string, len(entries))
	for i, e := range entries {
		var err error
		if keys[i], err = matlabKey(e.Key.String()); err != nil {
			return "", err
		}
		if values[i], err = w.value(e.Value); err != nil {
			return "", fmt.Errorf("%s: %w", e.Key, err)
		}
		if e.Value.Type == notebooks.TypeList { // a cell array in a list of values is one value more
			values[i] = "{" + values[i] + "}"
		}
	}
	return "containers.Map({" + strings.Join(keys, ", ") + "}, {" + strings.Join(values, ", ") + "})", nil
}

// csharpList: an array whose items have no common type needs one.
func csharpList(w *writer, items []notebooks.Value) (string, error) {
	open := "new object[] { "
	if alike(items) {
		open = "new [] { "
	}
	return around(open, " }")(w, items)
}

// fsharpList: the items of a list are of one type; others are boxed.
func fsharpList(w *writer, items []notebooks.Value) (string, error) {
	all, err := written(items, w.value)
	if len(items) > 0 && !alike(items) {
		for i := range all {
			all[i] = "box (" + all[i] + ")"
		}
	}
	return "[ " + strings.Join(all, "; ") + " ]", err
}

// shellList writes an array of a shell, which holds text; nested values are JSON in it.
func shellList(w *writer, items []notebooks.Value) (string, error) {
	all, err := written(items, func(v notebooks.Value) (string, error) {
		switch v.Type {
		case notebooks.TypeList, notebooks.TypeMap:
			return shellQuote(string(v.JSON()))
		case notebooks.TypeNull:
			return "''", nil
		}
		return w.value(v)
	})
	return "(" + strings.Join(all, " ") + ")", err
}

// shellMap returns a map as JSON: an associative array would need a declaration before the assignment.
func shellMap(_ *writer, entries []notebooks.Entry) (string, error) {
	return shellQuote(string(notebooks.Value{Type: notebooks.TypeMap, Entries: entries}.JSON()))
}
