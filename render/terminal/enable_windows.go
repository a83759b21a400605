package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// enable turns on escape sequences. Consoles before Windows 10 cannot, and get plain lines.
func enable(f *os.File) bool {
	h := windows.Handle(f.Fd())
	var mode uint32
	if windows.GetConsoleMode(h, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
