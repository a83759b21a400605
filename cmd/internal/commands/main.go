package commands

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"

	"markmill/cmd/internal/program"
	"markmill/engine/kernel"
	"markmill/engine/process"
	"markmill/engine/sandbox"
	"markmill/engine/worktree"
)

// Main is the whole of markmill, and with a server of markmill-server; it returns the exit code. Under the names glue,
// scrap and check it is the command of that name that steps find on their PATH; under the sandbox helper's, that
// helper; under the warden's, a run's warden; under the place's, the first process of a run's place.
func Main(server *program.Server) int {
	switch strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") {
	case "glue":
		return kernel.GlueMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	case "scrap":
		return kernel.ScrapMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	case "check":
		return kernel.CheckMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	case sandbox.HelperName:
		return sandbox.Main(os.Args[1:], os.Stderr)
	case process.WardenName:
		return process.WardenMain(os.Args[1:])
	case process.PlaceName:
		return process.PlaceMain(os.Args[1:], sandboxOf)
	}
	a := program.New()
	worktree.OnWarning(func(words string) { a.Tell("markmill: warning: %s\n", words) })
	if a.Server = server; server == nil {
		tuneGC()
	}
	return execute(a, os.Args[1:])
}

// sandboxOf reads what a program in a run's place is to be confined by.
func sandboxOf(order string) (process.Options, error) {
	spec, err := sandbox.SpecOf(order)
	switch {
	case err != nil || !spec.Needed():
		return process.Options{}, err
	case spec.OnThread():
		return process.Options{Confine: spec.Confine}, nil
	}
	return process.Options{Attributes: spec.Attributes}, nil
}

// largeHeap is the size of what is alive from which memory counts for more than the time of the collector.
const largeHeap = 8 << 20

// tuneGC lets most commands end before the first collection, and keeps small what holds a large repository.
func tuneGC() {
	const rarely, often = 400, 25
	debug.SetGCPercent(rarely)
	type sentinel struct{ _ *int }
	var collected func(*sentinel)
	collected = func(*sentinel) { // after each collection
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if live[0].Value.Kind() == metrics.KindUint64 && live[0].Value.Uint64() > largeHeap {
			debug.SetGCPercent(often)
		} else {
			debug.SetGCPercent(rarely)
		}
		runtime.SetFinalizer(new(sentinel), collected)
	}
	runtime.SetFinalizer(new(sentinel), collected)
}
