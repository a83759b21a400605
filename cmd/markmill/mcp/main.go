package mcp

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main is the program markmill-mcp; it returns the exit code.
func Main(args []string) int {
	var o Options
	f := flag.NewFlagSet("markmill-mcp", flag.ContinueOnError)
	f.StringVar(&o.Program, "program", "", "path of markmill")
	f.StringVar(&o.Version, "is", "", "version that the client is told")
	f.StringVar(&o.Root, "root", ".", "folder outside of which a client can name nothing")
	f.StringVar(&o.Store, "store", "", "folder of the records")
	f.StringVar(&o.Floor, "floor", "", "what the server imposes on runs, as markmill run --floor takes it")
	f.StringVar(&o.Notice, "notice", "", "what the client is told besides: why runs are blocked")
	if err := f.Parse(args); err != nil {
		return 2
	}
	if o.Program == "" || f.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "markmill-mcp: markmill mcp starts this program; run that")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := Serve(ctx, os.Stdin, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "markmill-mcp:", err)
		return 1
	}
	return 0
}
