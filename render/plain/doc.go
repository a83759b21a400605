// Package plain turns the bytes that a process wrote into text that is safe to show.
//
// It owns two steps. Resolve does what a terminal would have done to one line: a carriage return, a
// backspace and an erase take effect, colours and titles are dropped. Escape writes what is left of
// control characters, of characters that reorder or hide text, and of invalid UTF-8 as visible
// escapes (\x1b, \u202e, \xff).
//
// What always holds: the result has no control character but tab, is valid UTF-8, and depends on
// the line's bytes alone: never on how a stream was cut into chunks.
//
// It may import notebooks/ansi, and nothing else of this module.
package plain
