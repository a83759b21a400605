// Command model is the scripted model that agents are measured with. It prints its address, and serves until its
// standard input ends.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"markmill/engine/agent/scripted"
)

func main() {
	all, err := scripted.Scenarios()
	if err != nil {
		log.Fatal(err)
	}
	server := scripted.NewServer(all)
	fmt.Println(server.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
	server.Close()
}
