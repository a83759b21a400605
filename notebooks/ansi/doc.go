// Package ansi knows what a terminal makes of the bytes of one line.
//
// It owns the control sequences (ECMA-48 and xterm's strings), which of them move the cursor or erase text, the line
// under the cursor, and the visible spelling of what must not reach a terminal or a page unescaped. Views and masking
// use the same code: what a view can show, masking has seen.
//
// What always holds: a sequence never reaches over a line end, the line depends on its bytes alone and not on how
// they were cut into pieces, and a few bytes never ask for more than maxColumn cells.
//
// It imports nothing of this module.
package ansi
