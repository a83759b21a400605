// Package status says which outputs still hold, and fails, as a gate, unless all that matters does.
package status
