package serve

import (
	"fmt"
	"net/http"
)

// agent answers clients of MCP with the tools of markmill mcp serve that their role has.
func (s *server) agent(w http.ResponseWriter, r *http.Request) { s.agents.ServeHTTP(w, r) }

// agentOf says who a client of MCP is, and whether it may only read. With another role it is another client.
func agentOf(r *http.Request) (person string, reads bool) {
	s := of(r)
	return fmt.Sprintf("%s %s %s %s", s.id, s.role, s.credential, s.name), s.role < run
}
