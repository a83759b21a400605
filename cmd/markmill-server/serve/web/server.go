package web

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io"
	"log"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"markmill/cmd/internal/child"
	"markmill/cmd/internal/engines"
	"markmill/cmd/internal/program"
	"markmill/cmd/internal/status"
	"markmill/cmd/markmill/mcp"
	"markmill/engine"
	"markmill/engine/worktree"
	"markmill/notebooks"
	"markmill/notebooks/codec"
	"markmill/render/html"
	"markmill/render/plain"
	"markmill/runs"
	"markmill/runs/index"
)

// Options configure the workbench.
type Options = program.Workbench

// Limits of what a client can take.
const (
	maxConnections = 1024
	maxHeader      = 16 << 10 // bytes
	maxBody        = 1 << 20  // bytes
	maxPrograms    = 8        // calls of markmill at the same time
	readTime       = 10 * time.Second
	idleTime       = 30 * time.Second // of a connection between requests; a browser makes another one
	writeTime      = 60 * time.Second // for a page; a stream has it for each message
)

type server struct {
	Options
	app      *program.App   // reads in the root
	program  *child.Program // does what is asked for
	store    runs.Store
	engine   *engine.Engine   // that reads settings and policies; it runs nothing
	repo     *worktree.Source // nil outside a repository
	auth     *auth
	states   background[map[string]status.Output]
	queue    sharedQueue
	due      background[*schedulesBody]
	versions versions
	began    time.Time
	closing  <-chan struct{}
	watching atomic.Int64 // streams that are open
	running  processes
	kept     sweepPages
	updating updater
	feed     feed
	agents   *mcp.HTTP
	hooks    *hooks
	outdated *child.Program // for what a push asks for, so that no page waits for it
}

// newServer makes the server of an endpoint. say tells the terminal something.
func newServer(a *program.App, o Options, d endpoint, say func(string)) (*server, error) {
	root, repo, err := a.Served(o.Root)
	if err != nil {
		return nil, err
	}
	app := a.In(root)
	eng, err := app.Engine(engines.RootOf(repo))
	if err != nil {
		return nil, err
	}
	o.Root = root
	var people *tokens
	if o.Tokens != "" {
		if people, err = newTokens(o.Tokens, say); err != nil {
			return nil, fmt.Errorf("--tokens %s: %w", o.Tokens, err)
		}
	}
	granted, err := parseRole(cmp.Or(o.Role, read.String()))
	if err != nil {
		return nil, &notebooks.Error{Kind: notebooks.KindOption, Msg: "--role: " + err.Error()}
	}
	guard := newAuth(d, granted, people, say)
	guard.root, guard.user = filepath.Base(root), o.User
	pushes, err := newHooks(o.Webhook, guard)
	if err != nil {
		return nil, err
	}
	floor, err := mcp.Floor(repo, nil)
	if err != nil {
		return nil, err
	}
	return &server{Options: o, app: app, hooks: pushes,
		outdated: &child.Program{Path: o.Program, Dir: root, Slots: make(chan struct{}, 1)},
		agents: mcp.NewHTTP(mcp.Options{App: a, Program: o.Program, Root: root,
			Store: eng.Store(engines.RootOf(repo)).Dir, Floor: string(codec.RawOf(floor))}, agentOf),
		engine: eng, repo: repo, store: eng.Store(engines.RootOf(repo)), began: time.Now(),
		program: &child.Program{Path: o.Program, Dir: root, Slots: make(chan struct{}, maxPrograms)},
		auth:    guard}, nil
}

// Serve answers until ctx ends. It prints the address to sign in with.
func Serve(ctx context.Context, a *program.App, stdout io.Writer, o Options) error {
	d, listener, err := newEndpoint(ctx, o)
	if err != nil {
		return err
	}
	defer listener.Close()
	var printing sync.Mutex
	s, err := newServer(a, o, d, func(words string) {
		printing.Lock()
		defer printing.Unlock()
		fmt.Fprintln(stdout, words)
	})
	if err != nil {
		return err
	}
	s.closing = ctx.Done()
	defer s.queue.close()
	s.feed.store, s.feed.end = s.store, s.closing
	s.auth.printAddress()
	var pushes sync.WaitGroup
	defer pushes.Wait()
	pushing, stop := context.WithCancel(ctx)
	defer stop()
	s.hooks.run = s.pushed
	pushes.Go(func() { s.hooks.serve(pushing) })
	web := &http.Server{Handler: s.routes(), ReadHeaderTimeout: readTime, ReadTimeout: writeTime,
		IdleTimeout: idleTime, MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0),
		ConnState: s.auth.connections.changed, ConnContext: s.auth.connections.context}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(s.auth.behind(listener)) }()
	select {
	case err = <-ended:
		return err
	case <-ctx.Done():
	}
	s.agents.Close()
	last, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := web.Shutdown(last); err != nil {
		return web.Close()
	}
	return nil
}

//go:embed pages serve.css serve.js openapi.json
var assets embed.FS

// routes are all addresses. A pattern with a role is answered to a session that has it.
func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.pages() {
		mux.Handle(r.pattern, s.auth.require(r.needs, s.trusted(r.do)))
	}
	mux.Handle("GET /", s.auth.require(read, func(_ http.ResponseWriter, r *http.Request) error {
		return refused(http.StatusNotFound, problem("there is no page %s", plain.Cut(plain.OneLine(r.URL.Path), 200)))
	}))
	mux.HandleFunc("GET /sign-in", s.auth.signIn)
	mux.HandleFunc("POST /sign-in", s.auth.signInToken)
	mux.HandleFunc("POST /webhook", s.hooks.receive)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	style := slices.Concat(html.Style(), asset("serve.css"))
	mux.HandleFunc("GET /assets/style.css", func(w http.ResponseWriter, _ *http.Request) {
		_ = give(w, "text/css; charset=utf-8", style) // the reader may have gone
	})
	mux.HandleFunc("GET /assets/script.js", func(w http.ResponseWriter, _ *http.Request) {
		_ = give(w, "text/javascript; charset=utf-8", asset("serve.js")) // the reader may have gone
	})
	return s.auth.all(mux)
}

// trusted answers with an error while a branch is checked out that brings records of its own.
func (s *server) trusted(next handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := s.repo.CheckStore(s.store.Dir); err != nil {
			return refused(http.StatusServiceUnavailable, err)
		}
		return next(w, r)
	}
}

// Patterns are the addresses that need a session, with their methods, as net/http.ServeMux has them, and the role that
// each needs.
func Patterns() map[string]string {
	needs := map[string]string{}
	for _, r := range (&server{auth: &auth{}}).pages() {
		needs[r.pattern] = r.needs.String()
	}
	return needs
}

// OpenAPI is the description of the addresses for programs.
func OpenAPI() []byte { return asset("openapi.json") }

// route is an address that needs a session.
type route struct {
	pattern string
	needs   role
	do      handler
}

func (s *server) pages() []route {
	list := []route{
		{"GET /{$}", read, s.home},
		{"GET /runs", read, s.list},
		{"GET /runs/{id}", read, s.run},
		{"GET /runs/{id}/live", read, s.live},
		{"GET /runs/{id}/output", read, s.output},
		{"GET /runs/{id}/files/{path...}", read, s.file},
		{"GET /runs/{id}/verify", read, s.verify},
		{"GET /compare", read, s.compare},
		{"GET /sweeps", read, s.sweeps},
		{"GET /sweeps/{id}", read, s.sweep},
		{"GET /sweeps/{id}/live", read, s.sweepLive},
		{"GET /sweeps/{id}/page", read, s.sweepPage},
		{"GET /approvals", read, s.approvals},
		{"GET /checks", read, s.checks},
		{"GET /new", run, s.form},
		{"POST /new", run, s.launch},
		{"POST /outdated", run, s.catchUp},
		{"POST /runs/{id}/fork", run, s.fork},
		{"POST /runs/{id}/apply", approve, s.act(applyRun)},
		{"POST /runs/{id}/approve", approve, s.act(approveRun)},
		{"POST /runs/{id}/deny", approve, s.act(denyRun)},
		{"GET /jobs", read, s.jobs},
		{"GET /jobs/{id}", read, s.job},
		{"GET /jobs/{id}/live", read, s.jobLive},
		{"GET /schedules", read, s.schedules},
		{"POST /sign-out", read, s.auth.signOut},
		{"POST /address", approve, s.address},
		{"GET /metrics", read, s.metrics},
		{"GET /events", read, s.events},
		{"GET /mcp", read, s.agent},
		{"POST /mcp", read, s.agent},
		{"DELETE /mcp", read, s.agent},
		{"GET /api/v1/openapi.json", read, func(w http.ResponseWriter, _ *http.Request) error {
			return give(w, "application/json", asset("openapi.json"))
		}},
		{"GET /api/v1/runs", read, s.apiRuns},
		{"POST /api/v1/runs", run, s.launch},
		{"GET /api/v1/runs/{id}", read, s.apiRun},
		{"GET /api/v1/runs/{id}/verification", read, s.apiVerification},
		{"GET /api/v1/jobs", read, s.apiJobs},
		{"GET /api/v1/jobs/{id}", read, s.apiJob},
		{"GET /api/v1/schedules", read, s.apiSchedules},
		{"GET /api/v1/checks", read, s.apiChecks},
		{"GET /api/v1/notebooks", read, s.apiNotebooks},
		{"GET /api/v1/sweeps", read, s.apiSweeps},
		{"GET /api/v1/sweeps/{id}", read, s.apiSweep},
	}
	for _, at := range []string{"", "/api/v1"} { // for browsers, and for programs
		list = append(list,
			route{"POST " + at + "/runs/{id}/abort", run, s.act(abortRun, "reason")},
			route{"POST " + at + "/runs/{id}/steer", run, s.act(steerRun, "text")},
			route{"POST " + at + "/runs/{id}/reject", approve, s.act(rejectRun, "reason")},
			route{"POST " + at + "/jobs", run, s.submit},
			route{"POST " + at + "/jobs/{id}/cancel", run, s.inQueue("/jobs/{id}", cancelJob)},
			route{"POST " + at + "/jobs/{id}/retry", run, s.inQueue("/jobs/{id}", retryJob)},
			route{"POST " + at + "/jobs/{id}/fetch", run, s.fetchJob()},
			route{"POST " + at + "/jobs/{id}/approve", approve, s.inQueue("/jobs/{id}", approveJob)},
			route{"POST " + at + "/jobs/{id}/deny", approve, s.inQueue("/jobs/{id}", denyJob)},
			route{"POST " + at + "/queues/{id}/pause", run, s.inQueue("/jobs", pauseQueue)},
			route{"POST " + at + "/queues/{id}/resume", run, s.inQueue("/jobs", resumeQueue)},
			route{"POST " + at + "/schedules/pause", run, s.actOn("/schedules", pauseSchedule)},
			route{"POST " + at + "/schedules/resume", run, s.actOn("/schedules", resumeSchedule)},
			route{"POST " + at + "/checks/mute", run, s.actOn("/checks", muteCheck, "until", "check")},
			route{"POST " + at + "/checks/unmute", run, s.actOn("/checks", unmuteCheck, "check")})
	}
	return list
}

// agent answers clients of MCP with the tools of markmill mcp serve that their role has.
func (s *server) agent(w http.ResponseWriter, r *http.Request) error {
	s.agents.ServeHTTP(w, r)
	return nil
}

// agentOf says who a client of MCP is, and whether it may only read. With another role it is another client.
func agentOf(r *http.Request) (person string, reads bool) {
	s := sessionOf(r)
	return fmt.Sprintf("%s %s %s %s", s.id, s.role, s.credential, s.name), s.role < run
}

// asset is an embedded file.
func asset(name string) []byte {
	text, err := assets.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return text
}

// ready says whether the records can be read.
func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	if err := s.ask(r.Context(), func(*index.Index) error { return nil }); err != nil {
		http.Error(w, "the records cannot be read", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}
