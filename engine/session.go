package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"markmill/engine/kernel"
	"markmill/notebooks"
)

// sessionKey tells sessions apart: steps of two languages may name their sessions alike.
func (s *PlannedStep) sessionKey() string { return s.Kernel.Name() + "/" + s.Session }

// session is the live interpreter of a step, started when its first step comes.
func (r *run) session(ctx context.Context, s *PlannedStep) (kernel.Session, error) {
	if live, ok := r.sessions[s.sessionKey()]; ok {
		return live, nil
	}
	if info, err := os.Stat(r.startDir()); r.plan.Request.Cwd != "" && (err != nil || !info.IsDir()) {
		return nil, &notebooks.Error{Kind: notebooks.KindProvider, Msg: fmt.Sprintf("--cwd %s: the worktree has no such folder", r.plan.Request.Cwd),
			Hint: "name a folder of the base commit, relative to its root", Err: err}
	}
	private := filepath.Join(r.work.Kernels, fmt.Sprintf("%d-%s", len(r.trace.spans), safeName(s.Session)))
	if err := os.Mkdir(private, 0o700); err != nil {
		return nil, artifact(err)
	}
	start := r.plan.Request.Start
	if start == 0 {
		start = time.Minute
	}
	ctx, cancel := context.WithTimeoutCause(ctx, start, fmt.Errorf("it did not start within %s", start))
	defer cancel()
	strict := r.plan.Notebook.Front.Strict == nil || *r.plan.Notebook.Front.Strict
	options := kernel.Options{Program: r.eng.Config.Kernels[s.Kernel.Name()].Program, Dir: r.startDir(), Env: r.env,
		Params: r.plan.values(), Private: private, Strict: strict, Scraps: r.work.Scraps, Grace: grace,
		Mark: r.mark, EndWithStep: r.plan.Notebook.Front.Processes == processesStep}
	if err := r.wrap(&options); err != nil {
		return nil, err
	}
	var live kernel.Session
	err := r.trace.span("start "+s.Kernel.Name(), func() (err error) {
		live, err = s.Kernel.Start(ctx, options)
		return err
	})
	if err != nil {
		var e *notebooks.Error
		if !errors.As(err, &e) {
			err = &notebooks.Error{Kind: notebooks.KindProvider, Msg: fmt.Sprintf("kernel %s did not start: %v", s.Kernel.Name(), err), Err: err}
		}
		return nil, err
	}
	r.sessions[s.sessionKey()] = live
	return live, nil
}

// startDir is where sessions start: the worktree's root, or --cwd in it.
func (r *run) startDir() string {
	return filepath.Join(r.tree.Dir(), filepath.FromSlash(r.plan.Request.Cwd))
}

// stepDir is where a step with cwd= runs; "" leaves the session where it is.
func (r *run) stepDir(s *PlannedStep) string {
	if s.Cwd == "" {
		return ""
	}
	return filepath.Join(r.tree.Dir(), filepath.FromSlash(s.Cwd))
}

func (r *run) stepEnv(s *PlannedStep, display string) map[string]string {
	env := map[string]string{"MARKMILL_STEP": string(s.ID), "MARKMILL_STEP_DIR": display}
	for name, v := range s.Env {
		env[name] = r.expandEnv(v)
	}
	return env
}

// alive says whether the interpreter that ran a step still stands.
func (r *run) alive(s *PlannedStep) bool {
	_, ok := r.sessions[s.sessionKey()]
	return ok
}
