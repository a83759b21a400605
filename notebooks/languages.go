package notebooks

import "strings"

// runnable says whether a word is the name of a language that notebooks are run in: then ```{word} is a step,
// and not a directive of a typesetter. Whether this machine can run it is the engine's question.
func runnable(word string) bool { return IsLanguage(word) }

// IsLanguage says whether a word is the name of a language that notebooks are run in.
func IsLanguage(word string) bool {
	_, ok := languages[strings.ToLower(word)]
	return ok
}

var languages = setOf(
	"awk", "bash", "bat", "c", "c++", "clojure", "cmd", "coconut", "cpp", "csharp", "dash", "fish", "fsharp", "gnuplot",
	"go", "gonb", "groovy", "haskell", "idl", "ipython", "ipython3", "java", "javascript", "js", "julia", "kotlin", "ksh",
	"logtalk", "lua", "matlab", "maxima", "node", "nodejs", "ocaml", "octave", "perl", "php", "powershell", "pwsh", "py", "python", "python2",
	"python3", "r", "rb", "ruby", "rust", "sas", "scala", "scheme", "sed", "sh", "shell", "sos", "sql", "stata", "ts",
	"typescript", "wolfram", "xonsh", "zsh",
)

// data says whether a language holds data or words. A tag alone does not make a step of it.
func data(lang string) bool {
	_, ok := dataLanguages[lang]
	return ok
}

var dataLanguages = setOf(
	"", "console", "css", "csv", "diff", "dot", "html", "ini", "json", "json5", "jsonc", "log", "markdown", "md", "mermaid",
	"output", "patch", "plain", "plaintext", "properties", "shell-session", "svg", "text", "toml", "tsv", "txt", "xml",
	"yaml", "yml",
)

// kernelLanguage is the language that Jupyter's names for a lexer mean.
func kernelLanguage(lang string) string {
	switch lang = strings.ToLower(lang); lang {
	case "ipython", "ipython2", "ipython3":
		return "python"
	}
	return lang
}

func setOf(words ...string) map[string]struct{} {
	set := make(map[string]struct{}, len(words))
	for _, w := range words {
		set[w] = struct{}{}
	}
	return set
}
