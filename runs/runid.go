package runs

import (
	"encoding/hex"
	"path"
	"strings"
	"time"
)

// runStamp is the time in a RunID: UTC, to the second.
const runStamp = "20060102T150405Z"

// slugMax bounds the notebook's part of a RunID, to keep paths below the run directory short.
const slugMax = 40

// NewRunID names a run by its start, the path of its notebook, and random bytes, which tell runs of the same second
// apart.
func NewRunID(now time.Time, notebook string, random []byte) RunID {
	return RunID(now.UTC().Format(runStamp) + "-" + slug(notebook) + "-" + hex.EncodeToString(random))
}

// slug makes a word that is safe in paths, Git refs and shells: lower-case letters, digits and single dashes.
func slug(notebook string) string {
	base := path.Base(strings.ReplaceAll(notebook, `\`, "/"))
	base = strings.ToLower(strings.TrimSuffix(base, path.Ext(base)))
	words := strings.FieldsFunc(base, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	out := strings.Join(words, "-")
	if len(out) > slugMax {
		out = strings.TrimRight(out[:slugMax], "-")
	}
	if out == "" {
		return "notebook"
	}
	return out
}

// startOf parses the time at the beginning of a RunID; false if it is no RunID.
func startOf(id RunID) (time.Time, bool) {
	if len(id) <= len(runStamp) || id[len(runStamp)] != '-' {
		return time.Time{}, false
	}
	t, err := time.Parse(runStamp, string(id[:len(runStamp)]))
	return t, err == nil
}

// Short returns the id without its time.
func (id RunID) Short() string {
	if _, named := startOf(id); named {
		return string(id[len(runStamp)+1:])
	}
	return string(id)
}
