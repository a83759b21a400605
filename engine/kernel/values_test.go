//go:build unix

package kernel

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"markmill/notebooks"
)

var hostile = []string{
	"", " ", "plain", "say \"hi\"", "it's", "a\nb\n", "\n", "trailing \\", "$(touch pwned)", "`touch pwned`", "${HOME}",
	"'; touch pwned; '",
	"\"; import os; os.mkdir('pwned') #", "*", "a\tb\r\nc", "日本語 \u202e\ufeff", "-n", "-e \\x41", "%s%n", "007", "1.10",
	"\x1b[31m", "!!", "~", "\\u00e9",
	strings.Repeat("long ", 20000),
}

func TestConformanceHostileParameters(t *testing.T) {
	each(t, "show", func(t *testing.T, d dialect) {
		var params []notebooks.Bound
		for i, text := range hostile {
			params = append(params,
				bound(fmt.Sprintf("p%d", i), notebooks.Value{Type: notebooks.TypeString, Text: text}))
		}
		h := start(t, d.kernel, func(o *Options) { o.Params = params })
		for i, text := range hostile {
			h.ok(d.show(fmt.Sprintf("p%d", i)), text)
		}
		nothingRan(t, h)
	})
}

// Every kernel can read a scrap that any other recorded.
func TestConformanceScrapsFromEveryLanguageToEveryLanguage(t *testing.T) {
	texts := []string{"007", "it's \"x\"\n$(touch pwned)", "é日本"}
	file := filepath.Join(t.TempDir(), "scraps.jsonl")
	shared := func(o *Options) {
		o.Scraps = file
		o.Env = append(o.Env, "MARKMILL_SCRAPS="+file)
	}
	name := func(writer, text int) string { return fmt.Sprintf("s%d_%d", writer, text) }
	all := dialects(t)
	writers := map[int]string{}
	for w, d := range all {
		if d.step("glue") == "" {
			continue
		}
		t.Run("from "+d.kernel.Name(), func(t *testing.T) {
			h := start(t, d.kernel, shared)
			for i, text := range texts {
				h.ok(d.glue(name(w, i), text), "")
			}
			writers[w] = d.kernel.Name()
			nothingRan(t, h)
		})
	}
	for _, d := range all {
		if d.step("scrap") == "" {
			continue
		}
		t.Run("to "+d.kernel.Name(), func(t *testing.T) {
			h := start(t, d.kernel, shared)
			for w, from := range writers {
				t.Run("from "+from, func(t *testing.T) {
					for i, text := range texts {
						h.ok(d.scrap(name(w, i)), text)
					}
				})
			}
			nothingRan(t, h)
		})
	}
}
