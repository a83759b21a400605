package kernel

import "slices"

// Table lists the built-in kernels in a fixed order. A new kernel is one line here.
func Table() []Kernel {
	return []Kernel{
		&shell{name: "bash", languages: []string{"bash", "shell", "bash-script", "shellscript", "shell-script"},
			driver: bashDriver, loop: loop, args: []string{"--norc", "--noprofile"},
			arrays: true, encode: encodeNUL, functions: true},
		&shell{name: "sh", languages: []string{"sh", "dash", "posix"}, driver: shDriver, loop: loop,
			encode: encodeLines},
		&shell{name: "zsh", languages: []string{"zsh"}, driver: zshDriver, loop: zshLoop, args: []string{"-f"},
			reserved: zshReserved, arrays: true, encode: encodeNUL, functions: true},
		python{},
		node{},
	}
}

// Lookup finds a built-in kernel by its name.
func Lookup(name string) (Kernel, bool) {
	return find(func(k Kernel) bool { return k.Name() == name })
}

// ForLanguage returns the name of the built-in kernel that runs a fence of the language lang.
func ForLanguage(lang string) (name string, ok bool) {
	k, ok := find(func(k Kernel) bool { return slices.Contains(k.Languages(), lang) })
	if !ok {
		return "", false
	}
	return k.Name(), true
}

func find(match func(Kernel) bool) (Kernel, bool) {
	for _, k := range Table() {
		if match(k) {
			return k, true
		}
	}
	return nil, false
}
