package cmdtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInteropRemote has papermill and Markmill read from a real server of S3 what the other wrote there. MARKMILL_PEERS
// is the interpreter that has papermill and boto3, and MARKMILL_S3_SERVER the server (versitygw).
func TestInteropRemote(t *testing.T) {
	python := os.Getenv("MARKMILL_PEERS")
	if python == "" {
		t.Skip("MARKMILL_PEERS names no interpreter with papermill and boto3: run bench/setup")
	}
	b, _, _ := newS3Bed(t)
	p, env := peers{python: python}, with(b.env, "AWS_DEFAULT_REGION=us-east-1", "HOME="+os.Getenv("HOME"))
	papermill := func(args ...string) {
		t.Helper()
		job := &papermillJob{Dir: b.dir, Log: filepath.Join(t.TempDir(), "papermill.log"),
			Args: append([]string{"-k", "python3", "--no-progress-bar"}, args...)}
		p.papermill(t, env, []*papermillJob{job})
		if job.code != 0 {
			t.Fatalf("papermill %v ends with %d:\n%s", args, job.code, readLog(job.Log))
		}
	}
	write(t, filepath.Join(b.dir, "task.md"),
		"# Task\n\n```yaml {.parameters}\nregion: south\n```\n\n```python {#show}\nprint(f\"sold in {region}\")\n"+
			"len(region)\n```\n")
	ours, theirs := b.base+"/ü b/ours.ipynb", b.base+"/ü b/theirs.ipynb"
	b.wants(t, b.run("task.md", ours, "-p", "region", "nord"), "pass", "exit 0")
	papermill(ours, theirs, "-p", "region", "østlandet")
	text := string(b.read(t, theirs))
	b.wants(t, text, "sold in østlandet", `"output_path": "`+theirs+`"`)
	if strings.Contains(text, "sold in nord") {
		t.Errorf("the output of the run before stands in\n%s", text)
	}
	b.wants(t, b.do("notebook", "scraps", ours, theirs), "nord", "østlandet", "exit 0")
	b.wants(t, b.do("diff", ours, theirs), `"nord" → "østlandet"`, "sold in østlandet", "exit 1")
	b.wants(t, b.run(theirs, b.base+"/again.ipynb", "-p", "region", "west"), "pass", "exit 0")
	b.wants(t, string(b.read(t, b.base+"/again.ipynb")), "sold in west")
	b.wants(t, b.do("test", theirs), "exit 2") // a test is of a file that is here
	papermill(b.base+"/again.ipynb", filepath.Join(b.dir, "here.ipynb"), "-p", "region", "east")
	b.wants(t, b.do("notebook", "scraps", "here.ipynb"), "east", "exit 0")
	b.wants(t, b.do("test", "here.ipynb"), "exit 0")
	b.secretless(t)
}
