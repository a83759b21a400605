package blocks

import "bytes"

// The lines that Git puts around the sides of a conflict.

func IsConflictOpen(line []byte) bool { return bytes.HasPrefix(line, []byte("<<<<<<< ")) }
func IsConflictEnd(line []byte) bool  { return bytes.HasPrefix(line, []byte(">>>>>>> ")) }
func IsConflictPart(line []byte) bool {
	return bytes.Equal(bytes.TrimRight(line, "\r\n"), []byte("=======")) || bytes.HasPrefix(line, []byte("||||||| "))
}
