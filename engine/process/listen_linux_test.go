package process

import (
	"maps"
	"net"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestListening: the kernel's answer and /proc name the port of a server, and no port that is only connected.
func TestListening(t *testing.T) {
	server, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := net.Dial("tcp4", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	port := func(a net.Addr) string { return strconv.Itoa(a.(*net.TCPAddr).Port) }
	asked, read := map[string]string{}, map[string]string{}
	if err := askListening(asked, unix.AF_INET); err != nil {
		t.Fatal(err)
	}
	readListening(read)
	for name, ports := range map[string]map[string]string{"asked": asked, "read": read} {
		found := slices.Collect(maps.Values(ports))
		if !slices.Contains(found, port(server.Addr())) || slices.Contains(found, port(client.LocalAddr())) {
			t.Errorf("%s: %v, of a server on %s and a client on %s", name, ports, server.Addr(), client.LocalAddr())
		}
	}
	for inode, at := range asked {
		if at == port(server.Addr()) && read[inode] != at {
			t.Errorf("the kernel says socket %s, and /proc has %v", inode, read)
		}
	}
}
