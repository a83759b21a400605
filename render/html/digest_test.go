package html

import (
	"strings"
	"testing"
	"time"

	"markmill/render/digest"
	"markmill/runs/index"
)

// TestDigestHostile: the name of a check, its message and the path of a notebook are text, in a digest and its page.
func TestDigestHostile(t *testing.T) {
	evil := "<script>alert(1)</script>| `x` [a](javascript:b)\n# h\x1b[31m\u202e"
	up := 99.999
	level := index.Level{Check: evil, State: "critical", Uptime: &up}
	at := time.Unix(1_800_000_000, 0)
	d := &digest.Digest{From: at, To: at.Add(time.Hour), Notebooks: []digest.Notebook{{Notebook: evil, Runs: 1,
		Statuses: map[string]int{"fail": 1}, Rows: []digest.Row{{Level: level, Says: evil, Strip: []string{"", "ok",
			"warn", "critical"}}},
		Changes: []digest.Change{{Time: at, Check: evil, Before: "ok", State: "critical", Says: evil}}}}}
	page, markdown := string(Digest(d)), d.Markdown()
	if strings.Contains(page, "<script>alert") || strings.Contains(markdown, "<script>") || strings.Contains(markdown,
		"\n# h") {
		t.Errorf("%s\n%s", page, markdown)
	}
	for _, out := range []string{page, markdown} {
		if strings.ContainsAny(out, "\x1b\u202e") || !strings.Contains(out, "99.99 %") || !strings.Contains(out,
			"·▁▄█") {
			t.Errorf("%q", out)
		}
	}
	for _, words := range []string{`<i class="none"></i><i class="pass"></i><i class="timeout"></i><i class="fail"></i>`, "1 run: 1 fail"} {
		if !strings.Contains(page, words) {
			t.Errorf("%s is not there:\n%s", words, page)
		}
	}
	if digest.Severity("error") <= digest.Severity("warn") || digest.Percent(nil) != "–" {
		t.Error("states are not in their order")
	}
}
