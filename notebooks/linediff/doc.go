// Package linediff finds which lines of two texts differ, in time that is near linear in their size. Begin at Lines;
// Numbers is the same of anything that a Numbering has numbered, and Rising finds what stayed in order.
//
// What always holds: the lines that are not marked are the same on both sides and in the same order;
// the result is the same each time, because no clock bounds the search.
//
// It imports nothing of this module.
package linediff
