//go:build unix

package api_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/ed25519"
	"crypto/sha1"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/ssh"

	"markmill/cmd/api"
	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/records"
	"markmill/engine"
	"markmill/notebooks/diff"
	"markmill/notebooks/forms"
	"markmill/notebooks/ipynb"
	"markmill/notebooks/region"
	"markmill/render/documents"
	"markmill/runs"
	"markmill/runs/sshsig"
)

const task = `# Count

` + "```yaml {.parameters}" + `
most: 3        # how far to count
` + "```" + `

` + "```bash {#count}" + `
seq "$most"
` + "```" + `
`

// folder is a place for the files of an example.
func folder() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "markmill-example-")
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// Run a notebook and read what its steps left.
func ExampleRun() {
	dir, remove := folder()
	defer remove()
	notebook := filepath.Join(dir, "task.md")
	if err := os.WriteFile(notebook,
		[]byte("```yaml {.parameters}\nmost: 3\n```\n\n```bash {#count}\nseq \"$most\"\n```\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	run, err := api.Run(context.Background(), notebook, api.Options{
		Parameters: map[string]any{"most": 2},
		Store:      filepath.Join(dir, "runs"),
	})
	if err != nil {
		log.Fatal(err) // the notebook could not be run
	}
	stdout, _, err := run.Output("count")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Status())
	fmt.Print(string(stdout))
	// Output:
	// pass
	// 1
	// 2
}

// A fork carries the steps that passed and goes on with the notebook as it is now.
func ExampleRun_fork() {
	dir, remove := folder()
	defer remove()
	if err := repository(dir); err != nil {
		log.Fatal(err)
	}
	notebook := filepath.Join(dir, "task.md")
	run := func(check string, request func(*engine.Request)) *api.Result {
		source := "```bash {#prepare}\necho 1 >data\n```\n\n```bash {#check}\n" + check + "\n```\n"
		if err := os.WriteFile(notebook, []byte(source), 0o644); err != nil {
			log.Fatal(err)
		}
		result, err := api.Run(context.Background(), notebook, api.Options{Request: request})
		if err != nil {
			log.Fatal(err)
		}
		return result
	}

	failed := run("grep 2 data", nil)
	mended := run("grep 1 data", func(r *engine.Request) {
		r.Resume, r.Fork, r.Base = failed.Run.ID, true, failed.Run.Contract.BaseCommit
	})
	fmt.Println(failed.Status(), mended.Status(), mended.Run.Carried()[0].Steps)
	// Output: fail pass [prepare]
}

// repository makes a Git repository with one empty commit, without the program git.
func repository(dir string) error {
	write := func(name string, content []byte) error {
		name = filepath.Join(dir, ".git", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.WriteFile(name, content, 0o644)
	}
	object := func(kind, content string) (string, error) {
		whole := fmt.Appendf(nil, "%s %d\x00%s", kind, len(content), content)
		id := fmt.Sprintf("%x", sha1.Sum(whole))
		var packed bytes.Buffer
		z := zlib.NewWriter(&packed)
		_, err := z.Write(whole)
		return id, errors.Join(err, z.Close(), write("objects/"+id[:2]+"/"+id[2:], packed.Bytes()))
	}
	tree, err := object("tree", "")
	if err != nil {
		return err
	}
	const by = "A <a@example.org> 1700000000 +0000"
	commit, err := object("commit", "tree "+tree+"\nauthor "+by+"\ncommitter "+by+"\n\nbase\n")
	return errors.Join(err, write("HEAD", []byte("ref: refs/heads/main\n")),
		write("refs/heads/main", []byte(commit+"\n")),
		write("config", []byte("[core]\n\trepositoryformatversion = 0\n")))
}

// A run can be ended from outside; its record says why.
func ExampleAbort() {
	dir, remove := folder()
	defer remove()
	notebook := filepath.Join(dir, "task.md")
	if err := os.WriteFile(notebook, []byte("```bash {#wait}\nsleep 60\n```\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	store := filepath.Join(dir, "runs")
	started, ended := make(chan runs.RunID, 1), make(chan struct{})
	go func() { // as another process would
		defer close(ended)
		asked := runs.AbortData{Reason: "not today", Actor: "alice", Time: time.Now()}
		if _, err := records.Abort(context.Background(), runs.Store{Dir: store}.Path(<-started), asked,
			time.Now); err != nil {
			log.Fatal(err)
		}
	}()
	run, err := api.Run(context.Background(), notebook, api.Options{Store: store,
		Request: func(r *engine.Request) { r.ID = "20261123T100000Z-task-0123456789abcdef" },
		Observe: func(e runs.Event) {
			if e.Type == runs.StepStarted {
				started <- "20261123T100000Z-task-0123456789abcdef"
			}
		}})
	if err != nil {
		log.Fatal(err)
	}
	<-ended
	fmt.Println(run.Status(), run.Run.Completed.Aborted.Reason)
	// Output: interrupted not today
}

// A step that fails is a result; the run says so, and why.
func ExampleRun_failure() {
	dir, remove := folder()
	defer remove()
	notebook := filepath.Join(dir, "task.md")
	if err := os.WriteFile(notebook, []byte("```bash {#check}\nexit 3\n```\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	run, err := api.Run(context.Background(), notebook, api.Options{Store: filepath.Join(dir, "runs")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Status())
	for _, b := range run.Run.Blockers() {
		fmt.Println(b.Code, b.Step, b.Message)
	}
	// Output:
	// fail
	// step_failed check exit 3 at line 2: exit 3
}

// Scraps are the values that steps recorded: by glue, or as here by a line of JSON.
func ExampleResult_Scraps() {
	dir, remove := folder()
	defer remove()
	notebook := filepath.Join(dir, "task.md")
	if err := os.WriteFile(notebook,
		[]byte("```bash {#measure}\necho '{\"name\":\"load\",\"type\":\"json\",\"value\":0.5}' >> "+
			"\"$MARKMILL_SCRAPS\"\n```\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	run, err := api.Run(context.Background(), notebook, api.Options{Store: filepath.Join(dir, "runs")})
	if err != nil {
		log.Fatal(err)
	}
	for name, scrap := range run.Scraps() {
		fmt.Println(name, string(scrap.Value))
	}
	// Output:
	// load 0.5
}

// What was known after an event is the fold of the journal up to it.
func ExampleRun_replay() {
	dir, remove := folder()
	defer remove()
	notebook := filepath.Join(dir, "task.md")
	if err := os.WriteFile(notebook, []byte("```bash {#a}\ntrue\n```\n\n```bash {#b}\nfalse\n```\n"),
		0o644); err != nil {
		log.Fatal(err)
	}
	run, err := api.Run(context.Background(), notebook, api.Options{Store: filepath.Join(dir, "runs")})
	if err != nil {
		log.Fatal(err)
	}

	then, events, err := runs.At(run.Dir).Replay(4)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(events[4].Type, then.Status(), then.Steps[0].Status(), then.Steps[1].Status())
	fmt.Println(run.Status())
	// Output:
	// step.finished running pass pending
	// fail
}

// The record of a run can be checked by whoever has it.
func ExampleVerify() {
	dir, remove := folder()
	defer remove()
	notebook := filepath.Join(dir, "task.md")
	if err := os.WriteFile(notebook, []byte("```bash {#hello}\necho hello\n```\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	run, err := api.Run(context.Background(), notebook, api.Options{Store: filepath.Join(dir, "runs")})
	if err != nil {
		log.Fatal(err)
	}

	checked, err := api.Verify(run.Dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(checked.Findings), "findings")
	if err := os.WriteFile(filepath.Join(run.Dir, run.Run.OutputFile()), []byte("edited\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	checked, err = api.Verify(run.Dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(checked.Findings) > 0)
	// Output:
	// 0 findings
	// true
}

// Which parameters and steps a notebook has, of any form.
func Example_inspect() {
	nb, err := forms.Parse("task.md", []byte(task))
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range nb.Params {
		fmt.Println(p.Name, p.Type, p.Default, p.Help)
	}
	for _, s := range nb.Steps {
		fmt.Println(s.ID, s.Lang, s.Line)
	}
	// Output:
	// most int 3 how far to count
	// count bash 7
}

// Every mistake of a notebook, with its place.
func Example_validate() {
	_, err := forms.Parse("task.md", []byte("```bash {#a timout=3s}\ntrue\n```\n\n```bash {#a}\ntrue\n```\n"))
	fmt.Println(err)
	// Output:
	// task.md:1:13: step "a": unknown attribute "timout"; did you mean timeout?
	// task.md:5:1: step "a": the id is also that of the step in line 1; give one of them another id
}

// What differs between two notebooks.
func Example_diff() {
	a, err := documents.Read("old.md", []byte("```bash {#a}\necho 1\n```\n\n```bash {#b}\necho 2\n```\n"), nil)
	if err != nil {
		log.Fatal(err)
	}
	b, err := documents.Read("new.md", []byte("```bash {#b}\necho 2\n```\n\n```bash {#a}\necho one\n```\n"), nil)
	if err != nil {
		log.Fatal(err)
	}
	d := diff.Compare(a, b, diff.Options{})
	for _, c := range d.Cells {
		if c.New != nil && c.New.Kind == diff.Code {
			fmt.Println(c.New.Label, c.What, "moved:", c.Moved)
		}
	}
	// Output:
	// b same moved: false
	// a edited moved: true
}

// A Jupyter notebook is read, changed where it is to be changed, and written: all other bytes stay.
func Example_jupyter() {
	draft := ipynb.Draft{Cells: []ipynb.DraftCell{{Type: "markdown", Source: "# Title"},
		{Type: "code", ID: "sum", Source: "1 + 1"}}}
	raw, err := draft.Bytes()
	if err != nil {
		log.Fatal(err)
	}
	nb, err := ipynb.Parse("new.ipynb", raw)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range nb.Cells {
		fmt.Println(c.ID, c.Type, c.Source)
	}
	changed := ipynb.Apply(raw, []ipynb.Edit{{Span: nb.Cells[1].SourceAt.Span, Text: `["1 + 2"]`}})
	fmt.Println(len(changed) < len(raw))
	// Output:
	// 1b0c16dd markdown # Title
	// sum code 1 + 1
	// true
}

// An output notebook is its source and what a run put in; the source comes back byte for byte.
func Example_strip() {
	dir, remove := folder()
	defer remove()
	notebook := filepath.Join(dir, "task.md")
	const source = "# Hello\n\n```bash {#hello}\necho hello\n```\n"
	if err := os.WriteFile(notebook, []byte(source), 0o644); err != nil {
		log.Fatal(err)
	}
	run, err := api.Run(context.Background(), notebook, api.Options{Store: filepath.Join(dir, "runs")})
	if err != nil {
		log.Fatal(err)
	}

	output := region.Strip("output.md", run.Notebook)
	fmt.Println(string(output.Source) == source, output.Manifest.Status)
	for _, r := range output.Regions {
		fmt.Println(r.ID)
	}
	// Output:
	// true pass
	// hello
}

// Accept a run after it, and read the decision from its record.
func ExampleDecide() {
	dir, remove := folder()
	defer remove()
	notebook := filepath.Join(dir, "task.md")
	if err := os.WriteFile(notebook, []byte(task), 0o644); err != nil {
		log.Fatal(err)
	}
	run, err := api.Run(context.Background(), notebook, api.Options{Store: filepath.Join(dir, "store")})
	if err != nil {
		log.Fatal(err)
	}
	eng, src, err := engines.New(dir)
	if err != nil {
		log.Fatal(err)
	}
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		log.Fatal(err)
	}
	_, _, err = records.Decide(eng, src, runs.At(run.Dir), engine.Verdict{Reason: "read the output",
		Sign: func(text []byte) ([]byte, error) { return sshsig.Sign(key, runs.DecisionNamespace, text) }})
	if err != nil {
		log.Fatal(err)
	}
	list, err := runs.At(run.Dir).Decisions()
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range list {
		fmt.Println(d.Seq, d.Answer, d.Reason, d.Status)
	}
	// Output: 1 accepted read the output pass
}
