//go:build unix

package kernel

import (
	"context"
	"io"
	"os"
	"testing"
	"time"
)

func benchmarkStep(b *testing.B, name, code string) {
	k, _ := Lookup(name)
	private := b.TempDir()
	s, err := k.Start(context.Background(),
		Options{Dir: b.TempDir(), Env: os.Environ(), Private: private, Strict: true, Grace: time.Second})
	if err != nil {
		b.Skip(err)
	}
	defer s.Close()
	r := Request{Code: []byte(code), File: "task.md", Line: 10, Stdout: io.Discard, Stderr: io.Discard}
	r.Env = map[string]string{"MARKMILL_STEP": "step", "MARKMILL_STEP_DIR": private}
	for b.Loop() {
		if out, err := s.Run(context.Background(), r); err != nil || out.Exit != 0 {
			b.Fatal(out, err)
		}
	}
}

func BenchmarkStepPython(b *testing.B) { benchmarkStep(b, "python", "x = 1\n") }
func BenchmarkStepBash(b *testing.B)   { benchmarkStep(b, "bash", "x=1\n") }
func BenchmarkStepSh(b *testing.B)     { benchmarkStep(b, "sh", "x=1\n") }
func BenchmarkStepNode(b *testing.B)   { benchmarkStep(b, "node", "x = 1\n") }

// A gigabyte from one step, as fast as the pipe is.
func benchmarkOutput(b *testing.B, name, code string) {
	b.SetBytes(1 << 30)
	benchmarkStep(b, name, code)
}

func BenchmarkGigabyteBash(b *testing.B) {
	benchmarkOutput(b, "bash", "head -c 1073741824 /dev/zero\n")
}
func BenchmarkGigabytePython(b *testing.B) {
	benchmarkOutput(b, "python", "import sys\nfor _ in range(1024): sys.stdout.buffer.write(bytes(1 << 20))\n")
}

func benchmarkStart(b *testing.B, name string) {
	k, _ := Lookup(name)
	dir := b.TempDir()
	for b.Loop() {
		private, err := os.MkdirTemp(dir, "")
		if err != nil {
			b.Fatal(err)
		}
		s, err := k.Start(context.Background(),
			Options{Dir: dir, Env: os.Environ(), Private: private, Grace: time.Second})
		if err != nil {
			b.Skip(err)
		}
		s.Close()
	}
}

func BenchmarkStartPython(b *testing.B) { benchmarkStart(b, "python") }
func BenchmarkStartBash(b *testing.B)   { benchmarkStart(b, "bash") }
func BenchmarkStartNode(b *testing.B)   { benchmarkStart(b, "node") }
