//go:build !linux

package jupyter

import (
	"io"
	"net"
)

// reader is the way to read a connection.
func reader(conn net.Conn) io.Reader { return conn }
