package notebooks

// ownTag translates what papermill, nbclient, nbval, Jupyter Book and nbconvert call a tag into Markmill's name for it.
// remove-cell has two: tagsOf gives both.
func ownTag(tag string) string {
	if own, ok := tagNames[tag]; ok {
		return own
	}
	return tag
}

var tagNames = map[string]string{
	"skip-execution":                TagSkip, // nbclient, MyST-NB
	"skip_execution":                TagSkip,
	"nbval-skip":                    TagSkip,
	"nbval-raises-exception":        TagRaises,
	"raises_exception":              TagRaises,
	"nbval-ignore-output":           TagVolatile,
	"nbval-check-output":            TagCheck,
	"pytest-validate-ignore-output": TagVolatile, // nbval, long ago
	"check_output":                  TagCheck,
	"remove-input":                  TagHideInput, // Jupyter Book
	"remove_input":                  TagHideInput, // nbconvert
	"hide_input":                    TagHideInput,
	"report_hide_input":             TagHideInput,
	"remove-output":                 TagHideOutput,
	"remove_output":                 TagHideOutput,
	"hide_output":                   TagHideOutput,
	"remove_all_output":             TagHideOutput,
	"allow_failure":                 TagAllowFailure,
	"injected_parameters":           TagInjected,
	"no_change":                     TagNoChange,
}

// tagsOf translates one typed tag.
func tagsOf(tag string) []string {
	switch tag {
	case "remove-cell", "remove_cell", "hide-cell", "hide_cell":
		return []string{TagHideInput, TagHideOutput}
	}
	return []string{ownTag(tag)}
}

var ownTags = []string{
	TagParameters, TagInjected, TagTest, TagReview, TagSetup, TagFinally, TagSkip, TagRaises, TagAllowFailure,
	TagNoChange, TagVolatile, TagCheck, TagHideInput, TagHideOutput, "step",
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
