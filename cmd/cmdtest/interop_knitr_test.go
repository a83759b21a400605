package cmdtest

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// knitrChunks prints the chunks that knitr itself reads of each file: engine, label, whether it is run, and code, as
// lines of JSON without a library.
const knitrChunks = `
options(knitr.duplicate.label = "allow")
suppressMessages(library(knitr))
text <- function(x) encodeString(paste(x, collapse = "\n"), quote = '"')
for (f in commandArgs(TRUE)) {
  knit_code$restore()
  render_markdown()
  opts_knit$set(out.format = "markdown", progress = FALSE, unnamed.chunk.label = "step")
  for (g in knitr:::split_file(xfun::read_utf8(f), patterns = all_patterns$md)) if (inherits(g, "block")) {
    p <- g$params
    cat(sprintf('{"file": %s, "lang": %s, "id": %s, "off": %s, "code": %s}\n', text(f),
      text(if (is.null(p$engine)) "r" else p$engine), text(p$label), if (isFALSE(p$eval)) "true" else "false",
      text(knit_code$get(p$label))))
  }
}
`

// chunksByHand are spellings of chunks in R Markdown and Quarto.
var chunksByHand = map[string]string{
	"chunks.Rmd": "---\ntitle: T\n---\n\n```{r setup, include=FALSE}\nx <- 1\n\ny <- 2\n```\n\n" +
		"```{r}\n# no label\n```\n\n```{python load, echo = FALSE, fig.cap = \"a, b = c\"}\nx = 1\n```\n\n" +
		"```{bash, eval=FALSE}\nexit 1\n```\n\n````{r \"quoted\"}\n\"```\"\n````\n\n" +
		"```{r, label='named', results = \"hide\"}\nz <- \"```{r}\"\n```\n\n```r\nprose\n```\n\n" +
		"```{r empty-code}\n```\n\nText with `r x` inline.\n\n```{python options}\n#| echo: false\n" +
		"#| eval: false\nprint(1)\n```\n",
	"cells.qmd": "---\ntitle: T\nengine: knitr\n---\n\n```{r}\n#| label: fig-plot\n" +
		"#| fig-cap: \"One\"\nplot(1)\n```\n\n```{python}\n#| eval: false\n\n" +
		"x = 1\n```\n\n```{{r}}\nshown\n```\n\n::: {.callout}\n\n```{r inside}\ny <- 1\n```\n\n:::\n",
}

// knitr: the chunks of R Markdown and Quarto are steps, with the language, the label and the code that knitr reads.
func (p peers) knitr(t *testing.T) {
	if err := exec.Command("Rscript", "-e", "library(knitr)").Run(); err != nil {
		t.Skip("there is no knitr")
	}
	dir := t.TempDir()
	corpus, err := filepath.Abs(sharedCorpus()) // the commands start in another folder
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(corpus, "md", "*.[Rq]md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range chunksByHand {
		files = append(files, filepath.Join(dir, name))
		write(t, files[len(files)-1], text)
	}
	write(t, filepath.Join(dir, "knitr.R"), knitrChunks)
	type chunk struct {
		File, Lang, ID, Code string
		Off                  bool
		Tags                 []string
	}
	want := map[string][]chunk{}
	for line := range strings.Lines(string(command(t, dir, "Rscript", append([]string{"knitr.R"}, files...)...))) {
		var c chunk
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		want[c.File] = append(want[c.File], c)
	}
	for _, file := range files {
		var ours struct{ Steps []chunk }
		if err := json.Unmarshal(command(t, dir, p.markmill, "check", "--show", "--json", file), &ours); err != nil {
			t.Fatal(err)
		}
		if len(ours.Steps) != len(want[file]) || len(ours.Steps) == 0 {
			t.Errorf("%s: %d steps, and knitr reads %d chunks", filepath.Base(file), len(ours.Steps), len(want[file]))
			continue
		}
		for i, w := range want[file] {
			got := ours.Steps[i]
			if language(got.Lang) != language(w.Lang) || strings.Trim(got.Code, "\n") != strings.Trim(w.Code, "\n") ||
				slices.Contains(got.Tags, "skip") != w.Off || !strings.HasPrefix(w.ID, "step-") && got.ID != w.ID {
				t.Errorf("%s: step %d is %+v, knitr reads %+v", filepath.Base(file), i+1, got, w)
			}
		}
	}
}
