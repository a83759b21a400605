//go:build unix

package kernel

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"strings"
)

// tagged gives a session a tag of its own and puts it into the environment, so that a process
// that leaves everything else behind is still known by it. A Markmill inside a step carries the
// outer session's tag along: the outer one then knows what the inner one leaves behind. The tag
// begins with the run's mark.
func tagged(env []string, mark Mark) (tag string, with []string) {
	nonce := make([]byte, 12)
	rand.Read(nonce)
	tag = mark.word() + hex.EncodeToString(nonce)
	chain := strings.TrimPrefix(os.Getenv("MARKMILL_SESSION")+"/"+tag, "/")
	return tag, append(lastSettings(env), "MARKMILL_SESSION="+chain)
}

// lastSettings keeps the last setting of each name: which one counts differs between programs.
func lastSettings(env []string) []string {
	last := map[string]int{}
	for i, e := range env {
		name, _, _ := strings.Cut(e, "=")
		last[name] = i
	}
	var kept []string
	for i, e := range env {
		if name, _, _ := strings.Cut(e, "="); last[name] == i {
			kept = append(kept, e)
		}
	}
	return kept
}

// getenv gives the last setting of a name, as exec does.
func getenv(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}
