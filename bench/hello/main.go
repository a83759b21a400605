// Command hello prints one line. It is what the start of any Go program takes: the yardstick of markmill version.
package main

import "fmt"

func main() { fmt.Println("hello") }
