package html

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"markmill/notebooks"
	"markmill/notebooks/diff"
)

// browser is the Chromium that MARKMILL_BROWSER names. The stage "browser" of .ci/run sets it.
type browser struct {
	program string
	server  *httptest.Server
	pages   map[string][]byte

	mu    sync.Mutex
	asked []string // requests other than for pages
}

// newBrowser starts a server for pages on the loopback, which records all other requests.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	b := &browser{program: os.Getenv("MARKMILL_BROWSER"), pages: map[string][]byte{}}
	if b.program == "" {
		t.Skip("MARKMILL_BROWSER does not name a Chromium")
	}
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		page, ok := b.pages[r.URL.Path]
		if !ok {
			if r.URL.Path != "/favicon.ico" {
				b.asked = append(b.asked, r.URL.Path)
			}
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page) // a closed browser shows in its output
	}))
	t.Cleanup(b.server.Close)
	return b
}

// open loads a page in the browser, and returns the tree after its scripts have run.
func (b *browser) open(t *testing.T, path string, flags ...string) *html.Node {
	t.Helper()
	out, err := b.dump(t, path, flags)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Logf("started once more: %v", err)
		out, err = b.dump(t, path, flags)
	}
	if err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// dump starts the browser, which exits when the page is idle, unless it hangs.
func (b *browser) dump(t *testing.T, path string, flags []string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := append([]string{"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
		"--disable-component-update",
		"--no-first-run", "--user-data-dir=" + t.TempDir(), "--virtual-time-budget=3000", "--dump-dom"}, flags...)
	cmd := exec.CommandContext(ctx, b.program, append(args, b.server.URL+path)...)
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", b.program, errors.Join(ctx.Err(), err), stderr.Bytes())
	}
	return out, err
}

// rootAttribute returns an attribute of the <html> element.
func rootAttribute(root *html.Node, key string) string {
	for n := root.FirstChild; n != nil; n = n.NextSibling {
		if n.Type == html.ElementNode {
			return attribute(n, key)
		}
	}
	return ""
}

// evil returns the hostile texts in one output notebook.
func (b *browser) evil(t *testing.T) []byte {
	t.Helper()
	var all strings.Builder
	for _, text := range hostile {
		if len(text) < 2000 {
			all.WriteString(strings.ReplaceAll(text, "HOST", b.server.URL) + "\n\n")
		}
	}
	page, err := plainPage("x.md", hostileOutput(all.String()), hostileFiles(b.server.URL))
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// TestBrowserSees: the browser runs scripts and loads pictures. Otherwise the tests below would prove nothing.
func TestBrowserSees(t *testing.T) {
	b := newBrowser(t)
	b.pages["/control"] = []byte(`<!doctype html><html><body>` +
		`<script>document.documentElement.setAttribute("data-ran","script")</script>` +
		`<img src="/control.png"></body></html>`)
	root := b.open(t, "/control")
	if rootAttribute(root, "data-ran") != "script" || fmt.Sprint(b.asked) != "[/control.png]" {
		t.Errorf("the browser ran %q and asked for %q", rootAttribute(root, "data-ran"), b.asked)
	}
}

func TestBrowserRunsNothingHostile(t *testing.T) {
	b := newBrowser(t)
	b.pages["/page"] = b.evil(t)
	root := b.open(t, "/page")
	if ran := rootAttribute(root, "data-ran"); ran != "" {
		t.Errorf("this ran: %s", ran)
	}
	if len(b.asked) > 0 {
		t.Errorf("this was asked of the network: %q", b.asked)
	}
	if !strings.Contains(textOf(root), "Keys") {
		t.Error("the page was not shown")
	}
}

// TestBrowserPolicyAlone: if everything else fails, the policy alone blocks scripts and loads.
func TestBrowserPolicyAlone(t *testing.T) {
	b := newBrowser(t)
	good, err := plainPage("x.md", []byte("# T\n\nBROKEN\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range hostile {
		text = strings.ReplaceAll(text, "HOST", b.server.URL)
		// a policy does not prevent navigation: only the writer does
		if strings.Contains(text, "http-equiv") {
			continue
		}
		b.pages["/page"] = append(b.pages["/page"], bytes.Replace(good, []byte("BROKEN"), []byte(text), 1)...)
	}
	root := b.open(t, "/page")
	if ran := rootAttribute(root, "data-ran"); ran != "" {
		t.Errorf("this ran: %s", ran)
	}
	if len(b.asked) > 0 {
		t.Errorf("this was asked of the network: %q", b.asked)
	}
}

// tryout is a page that frames another one, measures it, presses keys in it, and records the results.
const tryout = `<!doctype html><html><body><iframe src="/page" width="%d" height="800"></iframe><script>
const frame = document.querySelector("iframe"), said = {};
frame.onload = () => {
  const doc = frame.contentDocument, win = frame.contentWindow;
  const press = (key) => { doc.body.dispatchEvent(new win.KeyboardEvent("keydown", { key, ` +
	`bubbles: true, cancelable: true }));
  };
  const at = () => { const c = doc.querySelector(".current"); return c ? c.id : ""; };
  said.scroll = doc.documentElement.scrollWidth; said.client = doc.documentElement.clientWidth;
  %s
  for (const k in said) document.documentElement.setAttribute("data-" + k, said[k]);
};
</script></body></html>`

func (b *browser) try(t *testing.T, width int, script string) *html.Node {
	t.Helper()
	b.pages["/try"] = fmt.Appendf(nil, tryout, width, script)
	root := b.open(t, "/try")
	if rootAttribute(root, "data-scroll") == "" {
		t.Fatal("the page was not tried")
	}
	return root
}

func (b *browser) expect(t *testing.T, root *html.Node, want map[string]string) {
	t.Helper()
	for key, value := range want {
		if got := rootAttribute(root, "data-"+key); got != value {
			t.Errorf("%s is %q, want %q", key, got, value)
		}
	}
}

func wideNotebook(t *testing.T) []byte {
	long := strings.Repeat("averylongword", 40)
	source := "# " + long + "\n\n" + long + " `" + long + "`\n\n| a | b |\n| - | - |\n| " + long + " | " + long +
		" |\n\n```yaml {.parameters}\n" + long + ": \"" + long +
		"\"  # help\n```\n\n```bash {#" + long[:100] + " .test timeout=10s}\necho " + long +
		"\n```\n\n```bash {#bad}\nfalse\n```\n\n```bash {#end}\ntrue\n```\n"
	body := "<details open><summary>✓ <code>x</code> · " + long[:150] + "</summary>\n\n```text {.output}\n" + long +
		"\n" + strings.Repeat("line\n", 100) + "```\n\n" +
		"```diff {.diff}\ndiff --git a/" + long + " b/" + long + "\n@@ -1 +1 @@\n-" + long + "\n+" + long +
		"\n```\n\n```json {.scraps}\n{\"" + long + "\": \"" + long + "\"}\n```\n\n</details>\n"
	return output(t, source, "fail", map[string]string{long[:100]: body, "bad": strings.Replace(body, "✓", "✗", 1),
		"end": body}, notebooks.ManifestStep{ID: notebooks.StepID(long[:100]), Status: "pass"},
		notebooks.ManifestStep{ID: "bad", Status: "fail", Exit: new(1)},
		notebooks.ManifestStep{ID: "end", Status: "pass"})
}

// TestBrowserWidth: on phones and desktops nothing but code scrolls sideways.
func TestBrowserWidth(t *testing.T) {
	b := newBrowser(t)
	page, err := plainPage("x.md", wideNotebook(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	b.pages["/page"] = page
	for _, width := range []int{390, 800, 1400} {
		root := b.try(t, width, "")
		if got, want := rootAttribute(root, "data-scroll"), rootAttribute(root, "data-client"); got != want {
			t.Errorf("in a window of %d the page is %s wide, and its window %s", width, got, want)
		}
	}
}

func TestBrowserKeys(t *testing.T) {
	b := newBrowser(t)
	long := strings.Repeat("averylongword", 40)[:100]
	page, err := plainPage("x.md", wideNotebook(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	b.pages["/page"] = page
	root := b.try(t, 900, `
  press("j"); said.first = at(); said.hash = win.location.hash;
  press("j"); said.second = at(); press("j"); press("j"); said.last = at(); press("k"); said.back = at();
  press("k"); press("e"); said.failed = at();
  press("f"); said.folded = !doc.querySelector("#step-bad").open; press("f");
  said.opened = doc.querySelector("#step-bad").open;
  press("a"); said.allfolded = doc.querySelectorAll("details.step[open]").length; press("a");
  said.allopened = doc.querySelectorAll("details.step[open]").length;
  const before = win.getComputedStyle(doc.body).backgroundColor; press("t");
  said.theme = before !== win.getComputedStyle(doc.body).backgroundColor;
  press("?"); said.help = doc.getElementById("help").open; press("?"); said.nohelp = doc.getElementById("help").open;
  doc.querySelector("nav a").click();`)
	b.expect(t, root, map[string]string{"first": "step-" + long, "hash": "#step-" + long, "second": "step-bad",
		"last": "step-end", "back": "step-bad", "failed": "step-bad",
		"folded": "true", "opened": "true", "allfolded": "0", "allopened": "3", "theme": "true", "help": "true",
		"nohelp": "false"})
}

// TestBrowserHugeOutput: the page of a 20 MB output opens.
func TestBrowserHugeOutput(t *testing.T) {
	b := newBrowser(t)
	body := "<details><summary>✓ <code>a</code></summary>\n\n```text {.output}\n" +
		strings.Repeat("a line of output that goes on and on\n", 20<<20/37) + "```\n\n</details>\n"
	page, err := plainPage("x.md", output(t, "```bash {#a}\ntrue\n```\n", "pass", map[string]string{"a": body}), nil)
	if err != nil {
		t.Fatal(err)
	}
	b.pages["/page"] = page
	root := b.try(t, 390, `press("j"); said.first = at();`)
	b.expect(t, root, map[string]string{"first": "step-a", "scroll": rootAttribute(root, "data-client")})
}

func TestBrowserDiff(t *testing.T) {
	b := newBrowser(t)
	var all strings.Builder
	for _, text := range hostile {
		if len(text) < 2000 {
			all.WriteString(strings.ReplaceAll(text, "HOST", b.server.URL) + "\n")
		}
	}
	d := diff.Compare(hostileDocument(all.String(), "x"), hostileDocument(all.String(), "y"), diff.Options{})
	b.pages["/page"] = bytes.ReplaceAll(Diff(d), []byte("HOST"), []byte(b.server.URL))
	root := b.open(t, "/page")
	if ran := rootAttribute(root, "data-ran"); ran != "" || len(b.asked) > 0 {
		t.Errorf("this ran: %s; this was asked of the network: %q", ran, b.asked)
	}

	long := strings.Repeat("averylongword", 40)
	side := func(word, status string) *diff.Document {
		doc := &diff.Document{Name: long + word, Status: status,
			Params: []diff.Param{{Name: long, Value: []byte(`"` + long + word + `"`)}}}
		for _, id := range []string{"first", "second", "same", "third" + long} {
			c := code(id, strings.Repeat("line\n", 40)+id+" "+long+" "+word+"\n")
			if id == "same" {
				c = code(id, long)
			} else {
				c.Outputs = []diff.Output{{Name: diff.Display,
					Data: []diff.Datum{{MIME: "image/svg+xml",
						Bytes: []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="3000" ` +
							`height="20">` + word + `</svg>`),
						Digest: word}}}}
				c.Scraps = []diff.Scrap{{Name: long, Type: "json", Value: []byte(`"` + long + word + `"`)}}
				c.Files = []diff.FilePatch{{Path: long, Lines: []string{"@@ -1 +1 @@", "+" + long + word}}}
			}
			if id == "second" {
				c.Status = status
			}
			doc.Cells = append(doc.Cells, c)
		}
		return doc
	}
	b.pages["/page"] = Diff(diff.Compare(side("a", "pass"), side("b", "fail"), diff.Options{}))
	for _, width := range []int{390, 1400} {
		root := b.try(t, width, `
  press("j"); said.first = at(); press("j"); said.second = at(); press("k"); press("e"); said.red = at();
  press("j"); said.third = at();
  const hunk = doc.querySelector(".hunk"); said.side = win.getComputedStyle(hunk).display; press("s");
  said.inline = win.getComputedStyle(hunk).display;
  said.gaps = doc.querySelectorAll("details.gap:not([open]), details.same:not([open])").length > 0; press("u");
  said.nogaps = doc.querySelectorAll("details.gap:not([open]), details.same:not([open])").length;
  said.widest = doc.documentElement.scrollWidth - doc.documentElement.clientWidth;
  const pics = doc.querySelector(".pics"), slider = pics.querySelector("input"); pics.querySelector("button").click();
  slider.value = 20; slider.dispatchEvent(new win.Event("input"));
  said.clip = win.getComputedStyle(pics.querySelector(".over")).clipPath;
  said.sliderwidth = doc.documentElement.scrollWidth - doc.documentElement.clientWidth;`)
		display := "grid"
		if width < 640 {
			display = "flex"
		}
		b.expect(t, root, map[string]string{"first": "step-first", "second": "step-second", "red": "step-second",
			"third": "step-third" + long, "side": display, "inline": "flex",
			"gaps": "true", "nogaps": "0", "clip": "inset(0px 0px 0px 20%)",
			"scroll": rootAttribute(root, "data-client"),
			"widest": "0", "sliderwidth": "0"})
	}
}

// TestBrowserFormulas: the browser typesets formulas, leaves the text of one that cannot be read, and asks for nothing.
func TestBrowserFormulas(t *testing.T) {
	b := newBrowser(t)
	page, err := plainPage("x.md", []byte("# T\n\n$\\newcommand{\\R}{\\mathbb{R}}$ $a*b*c \\in \\R$, $\\frac{1}{$, "+
		"$$x$$\n\n\\begin{align}\na &= b \\\\\n- c\n\\end{align}\n\n$\\pmb{x}$ $\\href{javascript:alert(1)}{x}$ "+
		"$\\includegraphics{"+b.server.URL+"/x.png}$ $\\def\\a{\\a\\a}\\a$ "+
		"$\\text{<img src=x onerror=alert(1)>}$\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	b.pages["/page"] = page
	root := b.open(t, "/page", "--enable-logging=stderr")
	var set, left []string
	for n := range root.Descendants() {
		switch {
		case n.Data == "math":
			set = append(set, textOf(n))
		case attribute(n, "class") == "math" && attribute(n, "title") != "":
			left = append(left, textOf(n))
		case n.Data == "img":
			t.Error("a formula became a picture")
		}
	}
	want := []string{"a∗b∗c∈ℝ", "x", "a=b−c", "𝒙", "<img\u00a0src=x\u00a0onerror=alert(1)>"}
	if !slices.Equal(set, want) {
		t.Errorf("typeset are %q, not %q", set, want)
	}
	if want := []string{`$\frac{1}{$`, `$\href{javascript:alert(1)}{x}$`,
		`$\includegraphics{` + b.server.URL + `/x.png}$`, `$\def\a{\a\a}\a$`}; !slices.Equal(left, want) {
		t.Errorf("left as text are %q, not %q", left, want)
	}
	if len(b.asked) > 0 {
		t.Errorf("this was asked of the network: %q", b.asked)
	}
}
