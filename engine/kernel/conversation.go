package kernel

import (
	"bufio"
	"context"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"markmill/notebooks"
)

// Files of the private folder that driver scripts know by name.
const (
	fileIn     = "in"      // pipe: orders
	fileCtl    = "ctl"     // pipe: answers
	fileOut    = "out"     // pipe: the interpreter's stdout
	fileErr    = "err"     // pipe: the interpreter's stderr
	fileStep   = "step"    // the step: its file name, line, folder, environment and code
	fileParams = "params"  // the parameters
	fileReply  = "reply"   // the exception and the displays of a step
	fileOuts   = "outputs" // results of a step in order, one per line
	fileState  = "state"   // the state that a shell saved when it ended
	fileFailed = "failed"  // the command at which a step of a shell failed
)

// conversation is the part of a driver that is the same for all interpreters that run a driver script of ours.
//
// There is one line each way for a step: "<number>" (and sizes) on the pipe in starts it, and "<number> <exit code> <1
// if there is a reply file>" on the pipe ctl ends it. The author's streams are never parsed.
type conversation struct {
	s *session
	// command returns the interpreter's command line. It may write the driver script into the private folder.
	command func(s *session) ([]string, error)
	// params returns the contents of parameter files by name. Without parameters they may be empty, but must be there.
	params func(params []notebooks.Bound) (map[string][]byte, error)

	in, ctl   *pipe
	listening chan struct{} // closed when listen has returned
	step      stepFile
	words     string // of the order for the step, after its number
	files     []string
}

func (c *conversation) start(s *session) (argv []string, err error) {
	c.s = s
	if argv, err = c.command(s); err != nil {
		return nil, err
	}
	if c.in, err = newPipe(s.o.Private, fileIn); err != nil {
		return nil, err
	}
	if c.ctl, err = newPipe(s.o.Private, fileCtl); err != nil {
		return nil, err
	}
	c.listening = make(chan struct{})
	go c.listen()
	return argv, nil
}

func (c *conversation) close() {
	c.step.close()
	c.in.close()
	c.ctl.close()
	if c.listening != nil {
		<-c.listening
	}
}

// overWord is a line that we write to ctl ourselves: once it comes, everything that the interpreter said has been read.
const overWord = "over"

func (c *conversation) listen() {
	defer close(c.listening)
	lines := bufio.NewReader(c.ctl.f)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if a, ok := parseAnswer(strings.TrimSuffix(line, "\n")); ok {
			select {
			case c.s.answers <- a:
			case <-c.s.closed:
				return
			}
		}
	}
}

// parseAnswer reads a line of the pipe ctl. The author's code may have written anything there.
func parseAnswer(line string) (answer, bool) {
	if hello, ok := strings.CutPrefix(line, "hello "); ok {
		pid, version, _ := strings.Cut(hello, " ")
		n, _ := strconv.Atoi(pid)
		return answer{hello: &greeting{pid: n, version: version}}, true
	}
	if line == overWord {
		return answer{last: true}, true
	}
	f := strings.Fields(line)
	if len(f) != 3 {
		return answer{}, false
	}
	number, err := strconv.Atoi(f[0])
	exit, err2 := strconv.Atoi(f[1])
	return answer{number: number, exit: exit, reply: f[2] == "1"}, err == nil && err2 == nil
}

func (c *conversation) flush() { c.ctl.f.WriteString(overWord + "\n") }

func (c *conversation) greet(ctx context.Context) (greeting, error) {
	for {
		select {
		case a := <-c.s.answers:
			if a.hello != nil {
				return *a.hello, nil
			}
		case <-c.s.child.Ended:
			return greeting{}, c.s.howEnded()
		case <-ctx.Done():
			return greeting{}, context.Cause(ctx)
		}
	}
}

func (c *conversation) tell(what order, number int) error {
	line := strconv.Itoa(number)
	switch what {
	case orderStep:
		line += c.words
	case orderPing:
		line = "p" + line
	case orderBind:
		line = "b" + line
	case orderQuit:
		line = "q"
	}
	_, err := c.in.f.WriteString(line + "\n")
	return err
}

func (c *conversation) interrupt() (again func()) {
	c.s.family.SignalStep(syscall.SIGINT, false)
	return nil
}

func (c *conversation) setParams(params []notebooks.Bound) error {
	files, err := c.params(params)
	for name, content := range files {
		if err == nil {
			c.files = append(c.files, name)
			err = c.s.write(name, content)
		}
	}
	return err
}

func (c *conversation) dropParams() {
	for _, name := range c.files {
		os.Remove(c.s.path(name))
	}
	c.files = nil
}

// setStep puts a step where the driver script reads it; words follow its number in the order.
func (c *conversation) setStep(content []byte, words string) error {
	c.words = words
	return c.step.write(c.s, content)
}

// stepFile is the file that holds the step. It stays open and is overwritten, because creating it again costs more
// than a small step; its content says where it ends.
type stepFile struct{ f *os.File }

func (t *stepFile) write(s *session, content []byte) (err error) {
	if t.f == nil {
		if t.f, err = os.OpenFile(s.path(fileStep), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			return err
		}
	}
	_, err = t.f.WriteAt(content, 0)
	return err
}

func (t *stepFile) close() {
	if t.f != nil {
		t.f.Close()
	}
}

func (c *conversation) saved() bool            { return false }
func (c *conversation) revived() (lost string) { return "" }

// textParams is the parameter file of languages whose variables hold text: for each parameter "text", its name and its
// value; "list", its name, the number of its elements and these; or "map" with keys and values. encode ends each field.
func textParams(params []notebooks.Bound, arrays bool, encode func(b []byte, field string) []byte) []byte {
	var b []byte
	for _, p := range params {
		fields := []string{"text", p.Param.Name, shellText(p.Value)}
		switch v := p.Value; {
		case arrays && v.Type == notebooks.TypeList:
			fields = []string{"list", p.Param.Name, strconv.Itoa(len(v.List))}
			for _, e := range v.List {
				fields = append(fields, shellText(e))
			}
		case arrays && v.Type == notebooks.TypeMap:
			fields = []string{"map", p.Param.Name, strconv.Itoa(len(v.Entries))}
			for _, e := range v.Entries {
				fields = append(fields, shellText(e.Key), shellText(e.Value))
			}
		}
		for _, f := range fields {
			b = encode(b, f)
		}
	}
	return b
}

// shellText returns a value as a shell variable holds it. Bytes stay as they are.
func shellText(v notebooks.Value) string {
	if v.Type == notebooks.TypeBytes {
		return v.Text
	}
	return v.Reveal()
}

// encodeNUL ends a field with NUL, which no variable of a shell or of the environment can hold.
func encodeNUL(b []byte, field string) []byte { return append(append(b, field...), 0) }

func sortedNames(env map[string]string) []string { return slices.Sorted(maps.Keys(env)) }

// stepMeta begins the file of a step: its fields and its environment, each encoded.
func stepMeta(r Request, encode func(b []byte, field string) []byte, fields ...string) []byte {
	var b []byte
	for _, f := range fields {
		b = encode(b, f)
	}
	for _, name := range sortedNames(r.Env) {
		b = encode(encode(b, name), r.Env[name])
	}
	return b
}
