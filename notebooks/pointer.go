package notebooks

import "bytes"

// IsPointer reports whether a text is a pointer of Git LFS, which stands for a file that was not fetched.
func IsPointer(src []byte) bool {
	return len(src) < 1024 && bytes.HasPrefix(src, []byte("version https://git-lfs.github.com/spec/"))
}

// What is wrong with a notebook that is a pointer of Git LFS, and what mends it.
const (
	PointerWords = "a pointer of Git LFS, and the notebook itself is not here"
	PointerHint  = "git lfs pull"
)
