package notebooks

import (
	"slices"
	"strings"
	"sync"

	"markmill/notebooks/magics"
)

// Language is a language of scripts with cells: those of Jupytext.
type Language struct {
	Name       string
	Extensions []string // of its scripts, in lower case
	Comment    string   // what begins a comment
	Quotes     string   // which quotes begin texts of several lines: tripleQuotes, anyQuotes or ""
}

const (
	tripleQuotes = `"""`
	anyQuotes    = `"`
)

// scripts is the one table of those languages.
var scripts = []Language{
	{"python", []string{".py"}, "#", tripleQuotes},
	{"julia", []string{".jl"}, "#", tripleQuotes},
	{"r", []string{".r"}, "#", anyQuotes},
	{"bash", []string{".sh"}, "#", ""},
	{"powershell", []string{".ps1"}, "#", ""},
	{"coconut", []string{".coco"}, "#", tripleQuotes},
	{"sage", []string{".sage"}, "#", tripleQuotes},
	{"xonsh", []string{".xsh"}, "#", tripleQuotes},
	{"sos", []string{".sos"}, "#", tripleQuotes},
	{"tcl", []string{".tcl"}, "#", ""},
	{"gnuplot", []string{".gp"}, "#", ""},
	{"javascript", []string{".js"}, "//", ""},
	{"typescript", []string{".ts"}, "//", ""},
	{"go", []string{".go"}, "//", ""},
	{"rust", []string{".rs"}, "//", ""},
	{"c++", []string{".cpp"}, "//", ""},
	{"csharp", []string{".cs"}, "//", tripleQuotes},
	{"fsharp", []string{".fsx", ".fs"}, "//", tripleQuotes},
	{"java", []string{".java"}, "//", tripleQuotes},
	{"groovy", []string{".groovy"}, "//", tripleQuotes},
	{"scala", []string{".scala"}, "//", tripleQuotes},
	{"stata", []string{".do"}, "//", ""},
	{"lua", []string{".lua"}, "--", ""},
	{"haskell", []string{".hs"}, "--", ""},
	{"clojure", []string{".clj"}, ";;", ""},
	{"scheme", []string{".ss", ".scm"}, ";;", ""},
	{"matlab", []string{".m"}, "%", ""},
	{"logtalk", []string{".lgt", ".logtalk"}, "%", tripleQuotes},
	{"idl", []string{".pro"}, ";", tripleQuotes},
	{"q", []string{".q"}, "/", tripleQuotes},
	{"robotframework", []string{".robot", ".resource"}, "#", tripleQuotes},
	{"ocaml", []string{".ml"}, "(*", tripleQuotes},
	{"wolfram", []string{".wolfram"}, "(*", tripleQuotes},
	{"sas", []string{".sas"}, "/*", tripleQuotes},
	{"maxima", []string{".mac"}, "/*", tripleQuotes},
	{"jenner", []string{".jenner"}, "/*", tripleQuotes},
}

// CommentEnd returns what ends a comment of the language; "" where the end of the line does.
func (l Language) CommentEnd() string { return commentEnds[l.Comment] }

var commentEnds = map[string]string{"(*": "*)", "/*": "*/"}

// LanguageOfScript returns the language of a script by its extension.
func LanguageOfScript(name string) (Language, bool) {
	ext := extension(name)
	for _, lang := range scripts {
		if slices.Contains(lang.Extensions, ext) {
			return lang, true
		}
	}
	return Language{}, false
}

// ScriptExtensions lists the extensions of scripts with cells.
func ScriptExtensions() (list []string) {
	for _, lang := range scripts {
		list = append(list, lang.Extensions...)
	}
	return list
}

// LanguageNamed returns a language by its name. Of an unknown one it returns the syntax of Python.
func LanguageNamed(name string) Language {
	if name == "cpp" {
		name = "c++"
	}
	for _, lang := range scripts {
		if lang.Name == name {
			return lang
		}
	}
	return scripts[0]
}

// Strings returns what follows the quoted texts of the language from line to line.
func (l Language) Strings() magics.Quotes {
	return magics.Quotes{Comment: l.Comment, Triple: l.Quotes == tripleQuotes, Single: l.Quotes == anyQuotes}
}

// IsLanguage reports whether a word names a programming language: then ```{word} is a step, and not a directive of a
// typesetter. Whether this machine can run it is the engine's question.
func IsLanguage(word string) bool {
	return slices.Contains(languages, strings.ToLower(word))
}

// Languages lists the programming languages that steps may be in, sorted.
func Languages() []string { return slices.Clone(languages) }

var languages = []string{
	"awk", "bash", "bat", "c", "c++", "clojure", "cmd", "coconut", "cpp", "csharp", "dash", "fish", "fsharp", "gnuplot",
	"go", "gonb", "groovy", "haskell", "idl", "ipython", "ipython3", "java",
	"javascript", "js", "julia", "kotlin", "ksh",
	"logtalk", "lua", "matlab", "maxima", "node", "nodejs", "ocaml", "octave", "perl",
	"php", "powershell", "pwsh", "py",
	"python", "python2", "python3", "r", "rb", "ruby", "rust", "sas", "scala", "scheme", "sed", "sh", "shell", "sos",
	"sql", "stata",
	"ts", "typescript", "wolfram", "xonsh", "zsh",
}

// IsCellLanguage reports whether a word behind backticks makes a cell of code in Jupytext Markdown: one of Jupytext's
// languages, of magics and of scripts, as it is spelled there.
func IsCellLanguage(word string) bool { return cellLanguages()[word] }

var cellLanguages = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(`
		R bash sh python python2 python3 coconut javascript js perl html latex markdown pypy ruby script svg
		matlab octave idl robotframework sas spark sql cython haskell tcl gnuplot julia c++ scheme clojure
		powershell q typescript scala rust csharp fsharp sos java groovy sage ocaml maxima stata jenner xonsh
		logtalk lua go c# f# cs fs`) {
		set[word], set[strings.ToUpper(word)] = true, true
	}
	set["wolfram language"], set["WOLFRAM LANGUAGE"] = true, true
	return set
})

// CellMagic returns the code of a cell in a language that only the notebook's kernel knows, by a magic of its own.
func CellMagic(lang, args, code string) string {
	return strings.TrimSpace("%%"+lang+" "+args) + "\n" + code
}

// IsData reports whether a language holds data or words. A tag alone does not make a step of it.
func IsData(lang string) bool {
	return slices.Contains(dataLanguages, lang)
}

var dataLanguages = []string{
	"", "console", "css", "csv", "diff", "dot", "html", "ini", "json", "json5", "jsonc", "log", "markdown", "md",
	"mermaid", "output", "patch", "plain", "plaintext", "properties", "shell-session",
	"svg", "text", "toml", "tsv", "txt",
	"xml", "yaml", "yml",
}

// KernelLanguage returns the language that Jupyter's names for a lexer mean.
func KernelLanguage(lang string) string {
	switch lang = strings.ToLower(lang); lang {
	case "ipython", "ipython2", "ipython3":
		return "python"
	}
	return lang
}
