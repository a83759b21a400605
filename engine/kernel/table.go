package kernel

import "slices"

// Table lists the built-in kernels in a fixed order. A new kernel is one line here.
func Table() []Kernel {
	return []Kernel{
		newShell("bash"),
		newShell("sh"),
		newShell("zsh"),
		newPython(),
		newNode(),
	}
}

// Lookup finds a built-in kernel by its name.
func Lookup(name string) (Kernel, bool) {
	for _, k := range Table() {
		if k.Name() == name {
			return k, true
		}
	}
	return nil, false
}

// languages says which words of a fence's info string each built-in kernel understands, lower
// case. A fence that says only "shell" wants the shell that people type at, which is bash.
var languages = []struct {
	kernel string
	words  []string
}{
	{"bash", []string{"bash", "shell", "bash-script", "shellscript", "shell-script"}},
	{"sh", []string{"sh", "dash", "posix"}},
	{"zsh", []string{"zsh"}},
	{"python", []string{"python", "python3", "py", "py3", "ipython", "ipython3"}},
	{"node", []string{"node", "nodejs", "javascript", "js", "cjs"}},
}

// ForLanguage gives the name of the built-in kernel that runs a fence of the language lang.
func ForLanguage(lang string) (name string, ok bool) {
	for _, l := range languages {
		if slices.Contains(l.words, lang) {
			return l.kernel, true
		}
	}
	return "", false
}
