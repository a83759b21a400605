package cmdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// browsing starts a browser in one step and drives it in another, over its own protocol's HTTP side.
const browsing = "---\nenv: {BROWSER: \"${MARKMILL_BROWSER}\", PROBE: \"PLACE\"}\n---\n```bash {#start}\n" +
	`cd "$TMPDIR" # Chromium makes a socket in the temporary folder, whose whole path may be too long for one
TMPDIR=. "$BROWSER" --headless=new --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --no-first-run \
  --remote-debugging-port=0 --user-data-dir="$PWD/profile" about:blank >/dev/null 2>&1 & browser=$!
until [ -s profile/DevToolsActivePort ]; do kill -0 $browser; sleep 0.05; done
` + "```\n\n```python {#drive}\n" + `import json, os, pathlib, time, urllib.parse, urllib.request
port = pathlib.Path(os.environ["TMPDIR"], "profile/DevToolsActivePort").read_text().split()[0]
page = urllib.parse.quote("data:text/html,<script>document.title = 'made by ' + 6 * 7</script>", safe="")
urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/json/new?{page}", method="PUT"))
while not [p for p in json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list")) if p["title"] == "made by 42"]:
    time.sleep(0.05)
print("the page is made by 42")
` + "```\n"

// TestBrowserLivesOverSteps: a headless Chromium of one step is there for the next, and gone with the run.
func TestBrowserLivesOverSteps(t *testing.T) {
	if os.Getenv("MARKMILL_BROWSER") == "" {
		t.Skip("MARKMILL_BROWSER does not name a Chromium")
	}
	dir := t.TempDir()
	t.Setenv("MARKMILL_DIR", t.TempDir())
	program := builtProgram(t)
	for _, name := range []string{"one.md", "two.md"} {
		write(t, filepath.Join(dir, "a.md"), strings.Replace(browsing, "PLACE", dir, 1))
		cmd := exec.Command(program, "run", "a.md", name, "--run-timeout", "180", "--no-progress-bar")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, _ := os.ReadFile(filepath.Join(dir, name))
		for _, want := range []string{"the page is made by 42", "still running"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
		nothingRunsIn(t, dir)
	}
	one, _ := os.ReadFile(filepath.Join(dir, "one.md"))
	two, _ := os.ReadFile(filepath.Join(dir, "two.md"))
	if string(one) != string(two) {
		t.Errorf("two runs differ:\n%s\n%s", one, two)
	}
}
