package percent

import (
	"strings"
	"testing"
)

// BenchmarkParse reads scripts of 1 MB: the time must be linear in their length, whatever their content.
func BenchmarkParse(b *testing.B) {
	for name, part := range map[string]string{"cells": "# %% T a=1\nprint(1)\n\n", "fences": "# %% [markdown]\n" +
		strings.Repeat("# ```x\n", 1000), "cells of fences": "# %% [raw]\n# ```x\n",
		"one cell of fences": "# ~~~~\n# ```x\n",
		"options":            "# %% a={\"b\": [\n", "comments": strings.Repeat("#", 1000) + "\n", "quotes": "x = '''\n",
		"inactive": "# %% language=\"bash\"\n# '''\n"} {
		src := []byte("# %% [markdown]\n" + strings.Repeat(part, 1<<20/len(part)))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				s, err := Parse("a.py", src)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = s.Runnable()
			}
		})
	}
}
