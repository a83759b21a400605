package percent

import (
	"path"
	"strings"

	"markmill/notebooks/magics"
)

// Language is what a script is written in, as its ending says.
type Language struct {
	Name    string
	Comment string // what begins a comment
	ext     string
	triple  bool // """ and ''' begin texts of several lines
	single  bool // so do " and '
}

// LanguageOf is the language of the scripts that have a name; false when the name is not that of a script.
func LanguageOf(name string) (Language, bool) {
	ext := path.Ext(strings.ReplaceAll(name, `\`, "/"))
	lang, ok := languages[strings.ToLower(ext)]
	lang.ext = strings.TrimPrefix(ext, ".")
	return lang, ok
}

// sign is what begins a comment of a language, whatever the ending of the script.
func (l Language) sign(lang string) string {
	for _, known := range languages {
		if known.Name == lang {
			return known.Comment
		}
	}
	return l.Comment
}

// quotes follows the texts of the language.
func (l Language) quotes() magics.Quotes {
	return magics.Quotes{Comment: l.Comment, Triple: l.triple, Single: l.single}
}

// languages are those of Jupytext's whose comments end with their line.
var languages = map[string]Language{
	".py":     {Name: "python", Comment: "#", triple: true},
	".jl":     {Name: "julia", Comment: "#", triple: true},
	".r":      {Name: "r", Comment: "#", single: true},
	".sh":     {Name: "bash", Comment: "#"},
	".ps1":    {Name: "powershell", Comment: "#"},
	".coco":   {Name: "coconut", Comment: "#", triple: true},
	".sage":   {Name: "sage", Comment: "#", triple: true},
	".xsh":    {Name: "xonsh", Comment: "#", triple: true},
	".sos":    {Name: "sos", Comment: "#", triple: true},
	".tcl":    {Name: "tcl", Comment: "#"},
	".gp":     {Name: "gnuplot", Comment: "#"},
	".js":     {Name: "javascript", Comment: "//"},
	".ts":     {Name: "typescript", Comment: "//"},
	".go":     {Name: "go", Comment: "//"},
	".rs":     {Name: "rust", Comment: "//"},
	".cpp":    {Name: "c++", Comment: "//"},
	".cs":     {Name: "csharp", Comment: "//", triple: true},
	".fsx":    {Name: "fsharp", Comment: "//", triple: true},
	".fs":     {Name: "fsharp", Comment: "//", triple: true},
	".java":   {Name: "java", Comment: "//", triple: true},
	".groovy": {Name: "groovy", Comment: "//", triple: true},
	".scala":  {Name: "scala", Comment: "//", triple: true},
	".do":     {Name: "stata", Comment: "//"},
	".lua":    {Name: "lua", Comment: "--"},
	".hs":     {Name: "haskell", Comment: "--"},
	".clj":    {Name: "clojure", Comment: ";;"},
	".ss":     {Name: "scheme", Comment: ";;"},
	".scm":    {Name: "scheme", Comment: ";;"},
	".m":      {Name: "matlab", Comment: "%"},
}
