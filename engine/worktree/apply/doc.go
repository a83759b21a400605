// Package apply puts a run's patch on the user's checkout: all of it or nothing, also across a crash.
//
// The index is left alone. See stage for how files take their places, and how a later Apply finishes what a kill cut.
package apply
