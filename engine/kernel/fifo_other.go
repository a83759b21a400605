//go:build !unix

package kernel

import (
	"errors"
	"os"
	"syscall"
)

func makeFIFO(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func openFIFO(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func readFIFO(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }

func growFIFO(syscall.RawConn) {}
