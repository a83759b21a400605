//go:build unix

package kernel

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"markmill/engine/kernel/jupyter"
	"markmill/notebooks"
)

// installed is a real kernel of Jupyter in the environment that MARKMILL_PEERS names a Python of.
func installed(t *testing.T, name string) Kernel {
	t.Helper()
	if os.Getenv("MARKMILL_PEERS") == "" {
		t.Skip("MARKMILL_PEERS names no Python with Jupyter kernels")
	}
	k, ok := peerKernel(name)
	if !ok {
		t.Fatalf("the kernel %s is not installed", name)
	}
	return k
}

// TestJupyterOtherKernels runs kernels that share nothing with ipykernel but the protocol: state from step to step,
// what is printed, a result, and an exception.
func TestJupyterOtherKernels(t *testing.T) {
	for _, c := range []struct{ name, set, print, printed, fails string }{
		{"ir", `kept <- 41`, `cat(kept + 1, "\n")`, "42 \n", `stop("no")`},
		{"xpython", "kept = 41", "print(kept + 1)", "42\n", `raise ValueError("no")`},
		{"calysto_scheme", "(define kept 41)", "(printf \"~a\\n\" (+ kept 1))", "42\n", "(car 5)"},
		{"deno", "let kept = 41", "console.log(kept + 1)", "42\n", `throw new Error("no")`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, installed(t, c.name))
			if got := h.run(c.set); got.Exit != 0 || got.stdout != "" {
				t.Fatalf("%+v", got)
			}
			h.ok(c.print, c.printed)
			if got := h.run(c.fails); got.Exit == 0 || got.Died {
				t.Errorf("a failure passed, or ended the kernel: %+v", got)
			}
			h.ok(c.print, c.printed)
		})
	}
}

// IRkernel breaks the lines of a picture's base64; the output notebook has them as they came.
func TestJupyterPictureInLines(t *testing.T) {
	h := start(t, installed(t, "ir"))
	got := h.run("plot(1:3)", func(r *Request) { r.Ordered = true })
	if len(got.Outputs) != 1 || got.Outputs[0].MIME != "image/png" || got.Outputs[0].Column == 0 {
		t.Errorf("%+v", got.Outputs)
	}
}

// A parameter that the code sets needs no assignment in a language for which there is none; one that is given does.
func TestJupyterParametersOfTheCode(t *testing.T) {
	k := NewJupyter(jupyter.Spec{Name: "deno", Language: "typescript"})
	b := bound("n", notebooks.Value{Type: notebooks.TypeInt, Text: "1"})
	b.Param.Code = true
	if err := k.ValidateParam(b); err != nil {
		t.Error(err)
	}
	b.Given = true
	if err := k.ValidateParam(b); err == nil {
		t.Error("a value is given that cannot be set")
	}
}

func TestJupyterKernelOfAnotherLanguage(t *testing.T) {
	hostileText := "it's $(touch pwned) `touch pwned`\n\"x\" \\"
	h := start(t, installed(t, "bash"), func(o *Options) {
		o.Params = []notebooks.Bound{bound("text", notebooks.Value{Type: notebooks.TypeString, Text: hostileText}),
			bound("n", notebooks.Value{Type: notebooks.TypeList,
				List: []notebooks.Value{{Type: notebooks.TypeInt, Text: "1"}, {Type: notebooks.TypeInt, Text: "22"}}})}
	})
	if got := h.run(`printf '%s|%s' "$text" "${n[1]}"`); got.stdout != hostileText+"|22\n" {
		t.Fatalf("%+v", got)
	}
	nothingRan(t, h)
	h.run("kept=1")
	h.ok("echo $kept", "1\n")
	if got := h.run("no_such_command_here"); got.Exit == 0 {
		t.Errorf("a failure passed: %+v", got)
	}
	h.run("glue seen 7")
	h.ok("scrap seen", "7\n")
	if err := h.Bind(context.Background(),
		[]notebooks.Bound{bound("text", notebooks.Value{Type: notebooks.TypeString, Text: "new"})}); err != nil {
		t.Fatal(err)
	}
	h.ok("echo $text", "new\n")
}

func TestJupyterDisplays(t *testing.T) {
	h := start(t, installed(t, "python3"))
	got := h.run(`from IPython.display import display, HTML, SVG, clear_output
display(HTML("<b>1</b>"))
clear_output()
handle = display(HTML("<b>2</b>"), display_id=True)
handle.update(HTML("<b>3</b>"))
class Picture:
    def _repr_png_(self): return b"\x89PNG\r\n\x1a\nrest"
    def __repr__(self): return "a picture"
display(Picture())
1 + 1`)
	if got.Exit != 0 || got.stdout != "2\n" || len(got.Displays) != 2 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []struct{ mime, alt, content string }{
		{"text/html", "<IPython.core.display.HTML object>", "<b>3</b>"},
		{"image/png", "a picture", "\x89PNG\r\n\x1a\nrest"},
	} {
		d := got.Displays[i]
		content, err := h.shown(got, i)
		if err != nil || d.MIME != want.mime || d.Alt != want.alt || string(content) != want.content {
			t.Errorf("display %d: %+v, %q %v", i+1, d, content, err)
		}
	}
	if entries, _ := os.ReadDir(h.step); len(entries)+len(got.Held) != 2 {
		t.Errorf("what clear_output dropped is still there: %v, %d held", entries, len(got.Held))
	}
}

func TestJupyterManySteps(t *testing.T) {
	h := start(t, installed(t, "python3"))
	for i := range 1000 {
		h.ok(fmt.Sprintf("print(%d)", i), fmt.Sprintf("%d\n", i))
	}
}

func TestJupyterKernelsAtOnce(t *testing.T) {
	k := installed(t, "python3")
	if testing.Short() {
		t.Skip("twenty kernels at once take a while")
	}
	var all sync.WaitGroup
	said := make([]string, 20)
	for i := range said {
		all.Go(func() {
			h := start(t, k) // it lives to the end of the test, as the others do
			var out, err strings.Builder
			_, failed := h.Run(context.Background(),
				Request{Code: fmt.Appendf(nil, "print(%d)", i), File: "task.md", Line: 1, Stdout: &out,
					Stderr: &err, DisplayDir: h.step})
			said[i] = fmt.Sprintf("%s%s%v", out.String(), err.String(), failed)
		})
	}
	all.Wait()
	for i, s := range said {
		if s != fmt.Sprintf("%d\n<nil>", i) {
			t.Errorf("kernel %d said %q", i, s)
		}
	}
}

// A kernel that works through a program dies with it, although it starts another: what the steps before had set is
// gone.
func TestJupyterKernelWhoseShellEnds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows the processes of a kernel")
	}
	h := start(t, installed(t, "bash"))
	if got := h.run("echo before; exit 3"); !got.Died || got.Exit == 0 || !strings.Contains(got.stdout, "before") ||
		h.Alive() {
		t.Errorf("%+v, alive %v", got, h.Alive())
	}
	// A program that a step starts and ends is none of the kernel's own.
	h = start(t, installed(t, "bash"))
	h.run("kept=1; sleep 300 & server=$!")
	if got := h.run("bash -c 'exit 3'; (exit 4); kill $server; echo $kept"); got.Died || got.Exit != 0 ||
		!strings.Contains(got.stdout, "1\n") {
		t.Errorf("%+v", got)
	}
}

// What a process prints later belongs to a step that comes then: to which, the kernel decides.
func TestJupyterLateOutput(t *testing.T) {
	h := start(t, installed(t, "python3"))
	h.ok(
		"import subprocess\nsubprocess.call('mkfifo go said', shell=True)\np = subprocess.Popen('read x <go; echo "+
			"late; echo done >said', shell=True)", "")
	got := h.run("n = open('go', 'w').write('on\\n')\nwith open('said') as f: n = f.read()\nprint('here')")
	for range 100 {
		if strings.Contains(got.stdout, "late\n") {
			break
		}
		got.stdout += h.run("pass").stdout
	}
	if !strings.Contains(got.stdout, "late\n") || !strings.Contains(got.stdout, "here\n") {
		t.Errorf("%q", got.stdout)
	}
}
