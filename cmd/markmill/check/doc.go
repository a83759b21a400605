// Package check finds the mistakes of notebooks without running anything, and shows what would run: parameters, steps,
// gates. It writes nothing.
package check
