//go:build unix

// Command worktree makes one worktree of a repository's HEAD and prints, as JSON, what that cost: seconds, seconds of
// the processor, and MiB of memory at most. With a pool it takes the worktree from there, and afterwards, when the cost
// is known, changes some files and gives it back.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"markmill/engine/worktree"
	"markmill/engine/worktree/object"
	"markmill/engine/worktree/pool"
)

func main() {
	at := flag.String("pool", "", "`folder` of a pool, on the file system of TO")
	change := flag.Int("change", 0, "`number` of files to change before the worktree is given back")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: worktree [-pool FOLDER -change N] REPOSITORY TO")
		os.Exit(2)
	}
	if err := measure(flag.Arg(0), flag.Arg(1), *at, *change); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func measure(repository, to, at string, change int) error {
	began, before := time.Now(), used()
	source, err := worktree.Open(repository)
	if err != nil {
		return err
	}
	head, err := source.Head()
	if err != nil {
		return err
	}
	o := worktree.Options{RunID: fmt.Sprint(os.Getpid()), Dir: to, Base: head,
		Author: object.Identity{Name: "Bench", Email: "bench@localhost"}}
	if at != "" {
		o.Pool = pool.New(at)
		o.Pool.Min = 1
	}
	tree, err := worktree.Create(context.Background(), source, o)
	if err != nil {
		return err
	}
	after := used()
	cost := map[string]float64{"wall": time.Since(began).Seconds(), "cpu": seconds(after) - seconds(before),
		"rss": float64(after.Maxrss) / 1024}
	if runtime.GOOS == "darwin" {
		cost["rss"] /= 1024 // it counts bytes
	}
	if at != "" {
		if err := changeFiles(tree.Dir(), change); err != nil {
			return err
		}
		if err := tree.Close(false); err != nil {
			return err
		}
		time.Sleep(time.Second) // a tree is not taken in the second in which its files were written
	}
	_, err = fmt.Printf("{\"wall\": %f, \"cpu\": %f, \"rss\": %f}\n", cost["wall"], cost["cpu"], cost["rss"])
	return err
}

func changeFiles(dir string, most int) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil || most == 0:
			return err
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		most--
		return os.WriteFile(path, []byte("changed\n"), 0o666)
	})
}

func used() (u syscall.Rusage) {
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u
}

func seconds(u syscall.Rusage) float64 {
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
