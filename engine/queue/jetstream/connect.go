package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
	"markmill/notebooks"
)

// Options say where the jobs are.
type Options struct {
	Dir         string    // folder of the embedded server
	URL         string    // addresses of servers, separated by commas; "": the embedded one
	Credentials string    // file of a JWT and its key, as nsc makes it
	CA          string    // file of certificates that the server's is checked with; "": the system's
	Cert, Key   string    // files of the client's certificate
	Replicas    int       // of the streams, where they are made; 0 is 1
	Name        string    // of this process, for those who look at the server
	FileStore   FileStore // of the parts of larger files; nil: they are in the queue, too
}

// Queue is a connection to where the jobs are.
type Queue struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	local *local // nil with an address
	// streams
	jobs, events, control, state, files, alerts jetstream.Stream

	store FileStore              // nil: larger files are in the queue
	back  atomic.Pointer[func()] // is called when the connection is there again
	fault func() error           // of tests: it is called before and after each message of the outbox is put
	// messages that no program of ours wrote
	foreignMu sync.Mutex
	foreign   map[queue.Foreign]bool
	denied    atomic.Pointer[error] // of the last operation that the server did not permit
}

// Streams of the queue.
const (
	jobsStream    = "MARKMILL_JOBS"
	eventsStream  = "MARKMILL_EVENTS"
	controlStream = "MARKMILL_CONTROL"
	stateStream   = "MARKMILL_STATE"
	filesStream   = "MARKMILL_FILES"
)

// Connect connects, and makes the streams that are not there.
func Connect(ctx context.Context, o Options) (*Queue, error) {
	q := &Queue{store: o.FileStore}
	options := []nats.Option{nats.Name(o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond), nats.Timeout(10 * time.Second),
		// a server behind a cut cable is left within 15 s
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ReconnectHandler(func(*nats.Conn) {
			if back := q.back.Load(); back != nil {
				(*back)()
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { // a denial looks like silence else
			if errors.Is(err, nats.ErrPermissionViolation) && !onlyListens(err) {
				q.denied.Store(&err)
			}
		})}
	url := o.URL
	if url == "" {
		var err error
		if q.local, err = openLocal(o.Dir); err != nil {
			return nil, &notebooks.Error{Kind: notebooks.KindInput, File: o.Dir, Err: err,
				Msg: "the queue cannot be opened: " + err.Error(), Hint: "check the folder, or name a server with " +
					"--nats URL"}
		}
		url = "nats://127.0.0.1"
		options = append(options, nats.SetCustomDialer(q.local), nats.Token(q.local.token),
			nats.IgnoreDiscoveredServers(), nats.Timeout(serverTime+5*time.Second))
	}
	if o.Credentials != "" {
		options = append(options, nats.UserCredentials(o.Credentials))
	}
	if o.CA != "" {
		options = append(options, nats.RootCAs(o.CA))
	}
	if o.Cert != "" || o.Key != "" {
		options = append(options, nats.ClientCert(o.Cert, o.Key))
	}
	var err error
	for deadline := time.Now().Add(serverTime); ; time.Sleep(20 * time.Millisecond) {
		q.nc, err = nats.Connect(url, options...)
		// Another process may end the server that it has had, while it is greeted: then this one takes its place.
		if q.local == nil || !cut(err) || time.Now().After(deadline) {
			break
		}
	}
	if err == nil {
		err = q.open(ctx, max(o.Replicas, 1))
	}
	if err != nil {
		q.Close()
		return nil, q.unreachable(o, err)
	}
	return q, nil
}

// cut reports whether a connection was lost, and nothing was refused.
func cut(err error) bool {
	_, lost := errors.AsType[*net.OpError](err)
	return lost || errors.Is(err, io.EOF) || errors.Is(err, nats.ErrNoServers)
}

// unreachable says why the server cannot be used, and what may help.
func (q *Queue) unreachable(o Options, err error) error {
	at, hint := o.Dir, "see that no other process holds the folder, and that its disk has space"
	if o.URL != "" {
		at, hint = redacted(o.URL), "see that the server runs there and is reached from here"
	}
	text := err.Error()
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired),
		errors.Is(err, nats.ErrAuthRevoked),
		strings.Contains(text, "nkeys"):
		hint = "give the right user and password in the address, or --nats-creds FILE"
	case errors.Is(err, nats.ErrSecureConnRequired), strings.Contains(text, "certificate"),
		strings.Contains(text, "tls:"):
		hint = "the server speaks TLS: give --nats-ca FILE with the certificates that sign its own, and --nats-cert " +
			"and --nats-key if it asks for one of yours"
	case errors.Is(err, nats.ErrSecureConnWanted):
		hint = "the server does not speak TLS: begin the address with nats://"
	case errors.Is(err, os.ErrNotExist):
		hint = "name a file that is there"
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount),
		errors.Is(err, nats.ErrNoResponders):
		hint = "start the server with JetStream (nats-server -js), and enable it for the account"
	}
	if denied := q.Denied(); denied != nil {
		return denied
	}
	return &notebooks.Error{Kind: notebooks.KindProvider, Msg: fmt.Sprintf("the queue at %s cannot be used: %s", at,
		strings.TrimPrefix(text, "nats: ")), Hint: hint, Err: err}
}

// redacted is an address without its password.
func redacted(url string) string {
	parts := strings.Split(url, ",")
	for i, part := range parts {
		if scheme, rest, ok := strings.Cut(part, "://"); ok {
			if at := strings.LastIndexByte(rest, '@'); at >= 0 {
				parts[i] = scheme + "://…@" + rest[at+1:]
			}
		} else if at := strings.LastIndexByte(part, '@'); at >= 0 {
			parts[i] = "…@" + part[at+1:]
		}
	}
	return strings.Join(parts, ",")
}

// open makes the streams that are not there. One that is there keeps the settings that somebody gave it.
func (q *Queue) open(ctx context.Context, replicas int) (err error) {
	if q.js, err = jetstream.New(q.nc, jetstream.WithDefaultTimeout(5*time.Second)); err != nil {
		return err
	}
	for _, one := range []struct {
		to  *jetstream.Stream
		cfg jetstream.StreamConfig
	}{
		{&q.jobs, jetstream.StreamConfig{Name: jobsStream, Subjects: []string{"mm.q.>"},
			Retention: jetstream.WorkQueuePolicy}},
		{&q.events, jetstream.StreamConfig{Name: eventsStream, Subjects: []string{"mm.ev.*"}, DenyDelete: true}},
		{&q.control, jetstream.StreamConfig{Name: controlStream, Subjects: []string{"mm.ctl.*"}, MaxMsgsPerSubject: 1}},
		{&q.state, jetstream.StreamConfig{Name: stateStream, Subjects: []string{"mm.job.*.*.*", "mm.dep.*.*",
			"mm.pause.*", "mm.one.*", "mm.worker.*", "mm.labels.*.*"}, MaxMsgsPerSubject: 1, AllowMsgTTL: true}},
		{&q.files, jetstream.StreamConfig{Name: filesStream, Subjects: []string{"mm.cas.*", "mm.base.*"}}},
		{&q.alerts, jetstream.StreamConfig{Name: alertsStream, Subjects: []string{"mm.alert.>"}, MaxMsgsPerSubject: 1}},
	} {
		to, cfg := one.to, one.cfg
		// No AllowDirect: a replica may lag behind, and a reader must see what was acknowledged.
		cfg.Storage, cfg.Replicas = jetstream.FileStorage, replicas
		err := q.retry(ctx, func() (err error) {
			if *to, err = q.js.Stream(ctx, cfg.Name); errors.Is(err, jetstream.ErrStreamNotFound) {
				*to, err = q.js.CreateStream(ctx, cfg)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("stream %s: %w", cfg.Name, err)
		}
	}
	return nil
}

// Denied says which operation the server did not permit last; nil for none.
func (q *Queue) Denied() error {
	err := q.denied.Load()
	if err == nil {
		return nil
	}
	return &notebooks.Error{Kind: notebooks.KindProvider, Msg: "the server of the queue refuses it: " +
		strings.TrimPrefix((*err).Error(), "nats: "), Hint: "the account needs what docs/queue.md lists", Err: *err}
}

// Close ends the connection, and the embedded server if this process has it.
func (q *Queue) Close() {
	if q.nc != nil {
		_ = q.nc.FlushTimeout(time.Second) // what was not acknowledged is done again by others
		q.nc.Close()
	}
	if q.local != nil {
		q.local.close()
	}
}

// patience is how long an operation waits for a server that is away: longer than one needs to start again.
const patience = 30 * time.Second

// retry does something again while the server is away, or another process takes its place.
func (q *Queue) retry(ctx context.Context, do func() error) error {
	for begin := time.Now(); ; {
		err := do()
		if denied := q.Denied(); err != nil && denied != nil {
			return denied // and not the silence that follows it
		}
		if err == nil || !passing(err) || ctx.Err() != nil || time.Since(begin) > patience {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// passing reports whether an error comes from a server that is away for a moment.
func passing(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Code == 503 && !errors.Is(err, jetstream.ErrJetStreamNotEnabled) &&
			!errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
	}
	for _, one := range []error{context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders,
		jetstream.ErrNoStreamResponse, nats.ErrReconnectBufExceeded,
		nats.ErrDisconnected,
		nats.ErrConnectionReconnecting, nats.ErrStaleConnection, net.ErrClosed} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
