package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

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
