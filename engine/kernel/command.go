package kernel

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"markmill/engine/process"
	"markmill/notebooks"
	"markmill/notebooks/codec"
)

// command is a kernel from the configuration: any program, run once per step. It keeps no state except files.
type command struct {
	name string
	argv []string
}

// fileMark stands in an argument for the path of a file with the step's code.
const fileMark = "{file}"

// CommandPrefix begins the names of kernels that are a command of the configuration.
const CommandPrefix = "command:"

// NewCommand returns a kernel that runs argv once per step. In each argument, {file} is replaced by the path of a file
// that holds the step's code, "{file.sql}" by one that ends in .sql. If no argument has it, the code is the program's
// standard input. Parameters are in the JSON file that MARKMILL_PARAMS names (an object of names and values), and the
// scalar ones also in the environment as MARKMILL_PARAM_<name>.
func NewCommand(name string, argv []string) Kernel {
	return &command{name: CommandPrefix + strings.TrimPrefix(name, CommandPrefix), argv: slices.Clone(argv)}
}

func (k *command) Name() string { return k.name }

// Languages returns nothing: the configuration maps them.
func (k *command) Languages() []string { return nil }

// ValidateParam returns an error for what an environment variable cannot hold.
func (k *command) ValidateParam(b notebooks.Bound) error {
	if _, in := paramVariable(b); in && strings.ContainsRune(shellText(b.Value), 0) {
		return invalidParam(b, k.name, "its value holds a NUL, which the environment cannot", "hand it over in a file")
	}
	return nil
}

// paramVariable names the environment variable of a parameter; a list, a map and a name that is no variable have none.
func paramVariable(b notebooks.Bound) (name string, ok bool) {
	if b.Value.Type == notebooks.TypeList || b.Value.Type == notebooks.TypeMap || !shellName.MatchString(b.Param.Name) {
		return "", false
	}
	return "MARKMILL_PARAM_" + b.Param.Name, true
}

// extension is that of the file of a step's code, "" unless an argument such as "{file.sql}" asks for one.
func (k *command) extension() (ext string, inFile bool) {
	for _, a := range k.argv {
		if strings.Contains(a, fileMark) {
			return "", true
		}
		if _, rest, ok := strings.Cut(a, "{file."); ok {
			if end := strings.IndexByte(rest, '}'); end > 0 && filepath.Base(rest[:end]) == rest[:end] {
				return "." + rest[:end], true
			}
		}
	}
	return "", false
}

// arguments returns argv with the file's path filled in.
func (k *command) arguments(ext, path string) []string {
	mark := fileMark
	if ext != "" {
		mark = "{file" + ext + "}"
	}
	out := make([]string, len(k.argv))
	for i, a := range k.argv {
		out[i] = strings.ReplaceAll(a, mark, path)
	}
	return out
}

// commandSession runs its program once per step.
type commandSession struct {
	kernel  *command
	o       Options
	path    string // of the program
	program string // that is started: the same, or the wrapper
	env     []string
	out     *pipe
	err     *pipe
	family  *process.Family
	dir     string
	last    int      // process of the last step
	stdin   *os.File // of the next step; nil: its code, or nothing
}

// Start finds the program; nothing runs before the first step.
func (k *command) Start(_ context.Context, o Options) (Session, error) {
	if len(k.argv) == 0 {
		return nil, &notebooks.Error{Kind: notebooks.KindProvider, Msg: "the kernel " + k.name + " has no command",
			Hint: "give it one in markmill.yaml"}
	}
	if err := canStart(k, o); err != nil {
		return nil, err
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	path, err := o.lookProgram(k.name, cmp.Or(o.Program, k.argv[0]), o.Env)
	if err != nil {
		return nil, err
	}
	program := path
	if len(o.Wrap) > 0 {
		if program, err = o.lookProgram(k.name, o.Wrap[0], o.Env); err != nil {
			return nil, err
		}
	}
	tag, variable := o.Mark.Tag()
	s := &commandSession{kernel: k, o: o, path: path, program: program, dir: o.Dir,
		env: append(lastSettings(o.Env), variable), family: process.NewFamily(o.Mark, tag)}
	if err := s.prepare(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *commandSession) prepare() (err error) {
	object := map[string]codec.Raw{}
	for _, b := range s.o.Params {
		object[b.Param.Name] = b.Value.JSON()
		if name, ok := paramVariable(b); ok {
			s.env = append(s.env, name+"="+shellText(b.Value))
		}
		if b.Value.Type == notebooks.TypeSecret { // the JSON form masks it
			if object[b.Param.Name], err = codec.Marshal(b.Value.Text); err != nil {
				return err
			}
		}
	}
	content, err := codec.Marshal(object)
	if err != nil {
		return err
	}
	params := filepath.Join(s.o.Private, "params.json")
	if err := os.WriteFile(params, content, 0o600); err != nil {
		return err
	}
	s.env = append(s.env, "MARKMILL_PARAMS="+params)
	if s.out, err = newStream(s.o.Private, fileOut); err != nil {
		return err
	}
	s.err, err = newStream(s.o.Private, fileErr)
	return err
}

func (s *commandSession) Info() Info  { return Info{Program: s.path, PID: s.last} }
func (s *commandSession) Alive() bool { return true }

// Bind does nothing: every step is a new process that gets the values when it starts.
func (s *commandSession) Bind(context.Context, []notebooks.Bound) error { return nil }

// EndStarted ends what the last step started and left running.
func (s *commandSession) EndStarted() {
	s.family.EndStep(s.o.Grace)
	s.family.Left()
}

// Running lists the session's processes; its interpreter ended with the step.
func (s *commandSession) Running() (own []int, left []process.Info) { return nil, s.family.Running() }

func (s *commandSession) Close() error {
	s.family.End(s.o.Grace)
	s.out.close()
	s.err.close()
	os.Remove(filepath.Join(s.o.Private, "params.json")) // it may hold secrets
	return nil
}

// Run runs the program on one step's code.
func (s *commandSession) Run(ctx context.Context, r Request) (Outcome, error) {
	if ctx.Err() != nil {
		return Outcome{Exit: 130, TerminatedBy: reason(ctx)}, nil
	}
	if r.Dir != "" {
		if _, err := os.Stat(s.o.Place.Outside(r.Dir)); err != nil {
			fmt.Fprintln(r.Stderr, err)
			return Outcome{Exit: 1}, nil
		}
		s.dir = r.Dir
	}
	p, err := s.launch(r)
	if err != nil {
		return Outcome{}, err
	}
	finish := pumpBoth(s.out, s.err, r.Stdout, r.Stderr)
	s.family.BeginStep()
	by := ""
	select {
	case <-p.Ended:
	case <-ctx.Done():
		by = reason(ctx)
		s.force(p)
	}
	s.family.ForgetPID()
	var out Outcome
	switch {
	case s.o.EndWithStep:
		out.Leftover = s.family.End(s.o.Grace)
	case by != "":
		out.Leftover = s.family.EndStep(s.o.Grace)
	}
	out.Left = s.family.Left()
	var signal string
	out.Exit, signal = p.Exit()
	switch {
	case by != "":
		out.TerminatedBy = by
		out.neverPassed()
	case signal != "":
		out.TerminatedBy = "signal " + signal
	}
	if err := finish(); err != nil {
		return out, fmt.Errorf("handing on the output of a step: %w", err)
	}
	return out, nil
}

func (s *commandSession) launch(r Request) (*process.Child, error) {
	ext, inFile := s.kernel.extension()
	file := filepath.Join(s.o.Private, "step"+ext)
	if err := os.WriteFile(file, r.Code, 0o600); err != nil {
		return nil, err
	}
	input := file
	if inFile {
		input = os.DevNull
	}
	stdin := s.stdin
	if stdin == nil {
		var err error
		if stdin, err = os.Open(input); err != nil {
			return nil, err
		}
	}
	s.stdin = nil
	defer stdin.Close()
	stdout, err := s.out.writer()
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	stderr, err := s.err.writer()
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	env := append([]string{}, s.env...)
	for _, name := range sortedNames(r.Env) {
		env = append(env, name+"="+r.Env[name])
	}
	argv := slices.Concat(s.o.Wrap, []string{s.path}, s.kernel.arguments(ext, file)[1:])
	p, err := s.family.Start(s.program, argv, env, s.dir, []*os.File{stdin, stdout, stderr},
		s.o.process())
	if err != nil {
		return nil, missing(s.kernel.name, s.program, err)
	}
	s.last = p.PID
	return p, nil
}

// force ends the program: an interrupt to its group, then a term and a kill to everything that it started.
func (s *commandSession) force(p *process.Child) {
	s.family.SignalStep(syscall.SIGINT, false)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-p.Ended:
			return
		case <-time.After(s.o.Grace):
			s.family.SignalStep(sig, true)
		}
	}
	<-p.Ended
}
