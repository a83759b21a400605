package web

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// fakeConn is a connection that only knows whether it is open.
type fakeConn struct {
	net.Conn
	closed bool
}

func (c *fakeConn) Close() error { c.closed = true; return nil }

// TestConnections: strangers close each other's connections, and never that of a person; of persons, who has the most
// loses the oldest.
func TestConnections(t *testing.T) {
	c := newConnections(32) // 30 of persons
	come := func(who string) *fakeConn {
		conn := &fakeConn{}
		c.changed(conn, http.StateNew)
		if who != "" {
			r := httptest.NewRequest("GET", "/", nil)
			c.identified(r.WithContext(c.context(r.Context(), conn)), who)
		}
		return conn
	}
	ada := come("ada")
	var strangers []*fakeConn
	for range 100 {
		strangers = append(strangers, come(""))
	}
	if ada.closed {
		t.Error("strangers close the connection of a person")
	}
	if !strangers[0].closed || strangers[99].closed || len(c.open) != 32 {
		t.Errorf("%d connections", len(c.open))
	}
	var bob []*fakeConn
	for range 100 {
		bob = append(bob, come("bob"))
	}
	if ada.closed || !bob[0].closed || bob[99].closed || c.counts["bob"] != 29 {
		t.Errorf("bob has %d connections, ada's is closed: %v", c.counts["bob"], ada.closed)
	}
	if new := come(""); new.closed || ada.closed || len(c.open) > 32 {
		t.Error("who comes next is not let in")
	}
	for conn := range c.open {
		c.changed(conn, http.StateClosed)
	}
	if len(c.open) != 0 || len(c.counts) != 0 {
		t.Errorf("%d connections and %d persons are remembered", len(c.open), len(c.counts))
	}
}
