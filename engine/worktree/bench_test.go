package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"markmill/engine/worktree/gittest"
)

// sourceOf makes a repository of n files of 2 KB, 50 a folder.
func sourceOf(b *testing.B, n int) *gittest.Repository {
	b.Helper()
	g := gittest.New(b)
	for i := range n {
		g.Write(fmt.Sprintf("d%03d/s%02d/f%05d.txt", i/2500, i/50%50, i), fmt.Sprintf("%02000d\n", i))
	}
	g.Commit("base")
	g.Git("gc", "-q")
	return g
}

// sizes are the numbers of files that are measured; the largest takes minutes and gigabytes.
func sizes() []int {
	if os.Getenv("MARKMILL_BENCH_LARGE") != "" {
		return []int{50, 10_000, 100_000}
	}
	return []int{50, 10_000}
}

func BenchmarkCreateSmall(b *testing.B) { benchCreate(b, 50) }

func BenchmarkCreate(b *testing.B) {
	for _, n := range sizes()[1:] {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchCreate(b, n) })
	}
}

func benchCreate(b *testing.B, n int) {
	g := sourceOf(b, n)
	dir := b.TempDir()
	b.ResetTimer()
	for i := range b.N {
		s := openSource(b, g.Dir)
		head, err := s.Head()
		gittest.Must(b, err)
		o := options(b, head)
		o.Dir = filepath.Join(dir, fmt.Sprint(i))
		tree, err := Create(context.Background(), s, o)
		gittest.Must(b, err)
		b.StopTimer()
		gittest.Must(b, tree.Close(false))
		b.StartTimer()
	}
}

func BenchmarkCapture(b *testing.B) {
	for _, n := range sizes() {
		g := sourceOf(b, n)
		tree := made(b, g)
		capture(b, tree)
		edition := 0
		for _, changed := range []int{0, 5} {
			b.Run(fmt.Sprintf("%d/%d-changed", n, changed), func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					edition++
					for j := range changed {
						gittest.Write(b, tree.Dir(), fmt.Sprintf("d000/s%02d/f%05d.txt", j/50, j),
							fmt.Sprintf("%02000d\n%d\n", j, edition))
					}
					b.StartTimer()
					if c := capture(b, tree); len(c.Files) != changed {
						b.Fatal(statuses(c))
					}
				}
			})
		}
	}
}

func BenchmarkFingerprint(b *testing.B) {
	for _, n := range sizes() {
		g := sourceOf(b, n)
		s := openSource(b, g.Dir)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				_, err := s.Fingerprint(context.Background(), nil)
				gittest.Must(b, err)
			}
		})
	}
}
