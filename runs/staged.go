package runs

import (
	"path/filepath"
	"strings"
)

// StagedName is the name of the temporary file beside an output of this name, while the run goes on. It follows from
// both alone.
func StagedName(name string, id RunID) string {
	const digits = 12 // enough for the files of one run in one folder
	return TempPrefix + string(id) + "-" + DigestOf([]byte(filepath.Base(name))).Hex()[:digits]
}

// StagedBy is the run that staged a file of this name, "" if none did.
func StagedBy(name string) RunID {
	rest, ok := strings.CutPrefix(name, TempPrefix)
	end := strings.LastIndexByte(rest, '-')
	if id := RunID(rest[:max(end, 0)]); ok && id.Valid() {
		return id
	}
	return ""
}
