// Package plain turns the bytes that a process wrote into text that is safe to show.
//
// It owns two steps. Resolve applies what a terminal would have done within one line: carriage returns, backspaces
// and erasures take effect, colors and titles are dropped. Escape makes the remaining control characters, characters
// that reorder or hide text, and invalid UTF-8 visible (\x1b, \u202e, \xff). It also formats counts and cuts long
// text.
//
// What always holds: a cleaned line has no control character but tab, is valid UTF-8, and depends only on the line's
// bytes, never on how a stream was split into chunks.
//
// It may import notebooks/ansi, and nothing else of this module.
package plain
