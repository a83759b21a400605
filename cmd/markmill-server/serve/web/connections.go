package web

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// connections bounds the open connections. Where there are too many, it closes the oldest one of a stranger, of whom no
// request has been found to be of a person; without one, the oldest of the person who has the most.
type connections struct {
	most int // connections
	kept int // of persons: the others are for who comes next

	mutex    sync.Mutex
	open     map[net.Conn]*connection
	accepted int
	counts   map[string]int // connections of each person
}

// connection is an open connection.
type connection struct {
	who    string // the person of its last request; "" is a stranger
	number int    // which of all connections it is
}

func newConnections(most int) *connections {
	return &connections{most: most, kept: most - most/16, open: map[net.Conn]*connection{}, counts: map[string]int{}}
}

// changed is the server's ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch state {
	case http.StateNew:
		for len(c.open) >= c.most {
			c.closeOldest()
		}
		c.accepted++
		c.open[conn] = &connection{number: c.accepted}
	case http.StateClosed, http.StateHijacked:
		c.forget(conn)
	}
}

type connKey struct{}

// context is the server's ConnContext.
func (c *connections) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// identified notes whose connection a request came on.
func (c *connections) identified(r *http.Request, who string) {
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	v := c.open[conn]
	if v == nil || v.who == who {
		return
	}
	c.uncount(v)
	v.who = who
	c.counts[who]++
	total := 0
	for _, n := range c.counts {
		total += n
	}
	if total > c.kept {
		c.closeOldestOf(c.heaviest())
	}
}

// uncount counts a connection no longer for its person.
func (c *connections) uncount(v *connection) {
	if v.who == "" {
		return
	}
	if c.counts[v.who]--; c.counts[v.who] == 0 {
		delete(c.counts, v.who)
	}
}

func (c *connections) forget(conn net.Conn) {
	if v := c.open[conn]; v != nil {
		c.uncount(v)
		delete(c.open, conn)
	}
}

// heaviest is the person with the most connections.
func (c *connections) heaviest() (who string) {
	for name, n := range c.counts {
		if n > c.counts[who] {
			who = name
		}
	}
	return who
}

// closeOldest closes a connection.
func (c *connections) closeOldest() {
	if !c.closeOldestOf("") {
		c.closeOldestOf(c.heaviest())
	}
}

// closeOldestOf closes the oldest connection of a person; "" is a stranger. It returns false if there is none.
func (c *connections) closeOldestOf(who string) bool {
	var oldest net.Conn
	for conn, v := range c.open {
		if v.who == who && (oldest == nil || v.number < c.open[oldest].number) {
			oldest = conn
		}
	}
	if oldest == nil {
		return false
	}
	c.forget(oldest)
	_ = oldest.Close() // its goroutine ends with that
	return true
}
