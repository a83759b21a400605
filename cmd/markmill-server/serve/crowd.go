package serve

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// crowd bounds the open connections. Where there are too many, it closes the oldest one of a stranger, of whom no
// request has been found to be of a person; without one, the oldest of the person who has the most.
type crowd struct {
	most int // connections
	kept int // of persons: the others are for who comes next

	mutex    sync.Mutex
	visitors map[net.Conn]*visitor
	came     int
	known    map[string]int // connections of each person
}

// visitor is an open connection.
type visitor struct {
	who   string // the person of its last request; "" is a stranger
	since int    // which of all connections it is
}

func newCrowd(most int) *crowd {
	return &crowd{most: most, kept: most - most/16, visitors: map[net.Conn]*visitor{}, known: map[string]int{}}
}

// changed is the server's ConnState.
func (c *crowd) changed(conn net.Conn, state http.ConnState) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch state {
	case http.StateNew:
		for len(c.visitors) >= c.most {
			c.dismiss()
		}
		c.came++
		c.visitors[conn] = &visitor{since: c.came}
	case http.StateClosed, http.StateHijacked:
		c.forget(conn)
	}
}

type connKey struct{}

// context is the server's ConnContext.
func (c *crowd) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// met notes whose connection a request came on.
func (c *crowd) met(r *http.Request, who string) {
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	v := c.visitors[conn]
	if v == nil || v.who == who {
		return
	}
	c.leave(v)
	v.who = who
	c.known[who]++
	total := 0
	for _, n := range c.known {
		total += n
	}
	if total > c.kept {
		c.dismissOf(c.heaviest())
	}
}

// leave counts a connection no longer for its person.
func (c *crowd) leave(v *visitor) {
	if v.who == "" {
		return
	}
	if c.known[v.who]--; c.known[v.who] == 0 {
		delete(c.known, v.who)
	}
}

func (c *crowd) forget(conn net.Conn) {
	if v := c.visitors[conn]; v != nil {
		c.leave(v)
		delete(c.visitors, conn)
	}
}

// heaviest is the person with the most connections.
func (c *crowd) heaviest() (who string) {
	for name, n := range c.known {
		if n > c.known[who] {
			who = name
		}
	}
	return who
}

// dismiss closes a connection.
func (c *crowd) dismiss() {
	if !c.dismissOf("") {
		c.dismissOf(c.heaviest())
	}
}

// dismissOf closes the oldest connection of a person; "" is a stranger. It returns false if there is none.
func (c *crowd) dismissOf(who string) bool {
	var oldest net.Conn
	for conn, v := range c.visitors {
		if v.who == who && (oldest == nil || v.since < c.visitors[oldest].since) {
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
