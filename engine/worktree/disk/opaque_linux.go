package disk

import "golang.org/x/sys/unix"

// Opaque reports whether a folder of the upper layer of an overlay hides the one below it.
func Opaque(dir string) bool {
	value := make([]byte, 1)
	for _, space := range []string{"user", "trusted"} {
		if n, err := unix.Lgetxattr(dir, space+".overlay.opaque", value); err == nil && n == 1 && value[0] == 'y' {
			return true
		}
	}
	return false
}
