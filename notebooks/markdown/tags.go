package markdown

import "markmill/notebooks"

// ownTag translates what papermill, nbclient, nbval, Jupyter Book and nbconvert call a tag into Markmill's name for it.
// remove-cell has two: TagsOf gives both.
func ownTag(tag string) string {
	if own, ok := tagNames[tag]; ok {
		return own
	}
	return tag
}

var tagNames = map[string]string{
	"skip-execution":                notebooks.TagSkip, // nbclient, MyST-NB
	"skip_execution":                notebooks.TagSkip,
	"nbval-skip":                    notebooks.TagSkip,
	"nbval-raises-exception":        notebooks.TagRaises,
	"raises_exception":              notebooks.TagRaises,
	"nbval-ignore-output":           notebooks.TagVolatile,
	"nbval-check-output":            notebooks.TagCheck,
	"pytest-validate-ignore-output": notebooks.TagVolatile, // nbval, long ago
	"check_output":                  notebooks.TagCheck,
	"remove-input":                  notebooks.TagHideInput, // Jupyter Book
	"remove_input":                  notebooks.TagHideInput, // nbconvert
	"hide_input":                    notebooks.TagHideInput,
	"report_hide_input":             notebooks.TagHideInput,
	"remove-output":                 notebooks.TagHideOutput,
	"remove_output":                 notebooks.TagHideOutput,
	"hide_output":                   notebooks.TagHideOutput,
	"remove_all_output":             notebooks.TagHideOutput,
	"allow_failure":                 notebooks.TagAllowFailure,
	"interrupt_on_timeout":          notebooks.TagInterrupt,
	"injected_parameters":           notebooks.TagInjected,
	"no_change":                     notebooks.TagNoChange,
}

// TagsOf returns what a tag stands for, as some tool typed it.
func TagsOf(tag string) []string {
	switch tag {
	case "remove-cell", "remove_cell", "hide-cell", "hide_cell":
		return []string{notebooks.TagHideInput, notebooks.TagHideOutput}
	}
	return []string{ownTag(tag)}
}

var ownTags = []string{
	notebooks.TagParameters, notebooks.TagInjected, notebooks.TagTest, notebooks.TagReview, notebooks.TagSetup,
	notebooks.TagFinally, notebooks.TagSkip, notebooks.TagRaises, notebooks.TagAllowFailure,
	notebooks.TagInterrupt, notebooks.TagNoChange, notebooks.TagVolatile, notebooks.TagCheck, notebooks.TagHideInput, notebooks.TagHideOutput,
	"step",
}

// presentation reports whether a class only controls how a fence is displayed, or marks a block of an output notebook.
// Such a class does not make a step.
func presentation(class, lang string) bool {
	_, ok := presentationClasses[class]
	return ok || class == lang
}

var presentationClasses = setOf(
	"annotate", "code-with-copy", "copy", "highlight", "line-numbers", "linenos", "linenums", "lineNumbers", "no-copy",
	"no-line-numbers", "no-select", "number-lines", "numberLines", "select", "sourceCode", "wrap",
	"diff", "error", "manifest", "output", "scraps", "tests",
)

func setOf(words ...string) map[string]struct{} {
	set := make(map[string]struct{}, len(words))
	for _, w := range words {
		set[w] = struct{}{}
	}
	return set
}
