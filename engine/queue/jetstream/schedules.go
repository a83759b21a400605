package jetstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"markmill/engine/queue"
	"markmill/engine/schedule"
	"markmill/notebooks/codec"
)

const (
	statesBucket = "MARKMILL_SCHEDULES" // the state of each scheduled notebook
	leadBucket   = "MARKMILL_SCHEDULER" // which of several schedulers of a repository works
)

// Schedules are the states of scheduled notebooks, for all schedulers of a queue. Each is updated by revision. The
// leader key only saves work: two schedulers that both act as leader have the same result.
type Schedules struct {
	q            *Queue
	states, lead jetstream.KeyValue
	key          string // of the lead
	revision     uint64 // of the lead; 0: another has it
}

// Schedules creates the missing buckets. Each scope, a repository, has a leader of its own. lead is the time after
// which a silent one is replaced; an existing bucket keeps its own.
func (q *Queue) Schedules(ctx context.Context, scope string, replicas int, lead time.Duration) (*Schedules, error) {
	bucket := func(cfg jetstream.KeyValueConfig) (kv jetstream.KeyValue, err error) {
		cfg.Storage, cfg.Replicas = jetstream.FileStorage, max(replicas, 1)
		err = q.retry(ctx, func() (err error) {
			if kv, err = q.js.KeyValue(ctx, cfg.Bucket); errors.Is(err, jetstream.ErrBucketNotFound) {
				kv, err = q.js.CreateKeyValue(ctx, cfg)
			}
			if err != nil && q.Denied() != nil {
				return q.Denied()
			}
			return err
		})
		if err != nil {
			err = fmt.Errorf("bucket %s: %w", cfg.Bucket, err)
		}
		return kv, err
	}
	sum := sha256.Sum256([]byte(scope))
	s := &Schedules{q: q, key: "lead." + hex.EncodeToString(sum[:16])}
	var err error
	if s.states, err = bucket(jetstream.KeyValueConfig{Bucket: statesBucket}); err == nil {
		s.lead, err = bucket(jetstream.KeyValueConfig{Bucket: leadBucket, TTL: lead})
	}
	return s, err
}

// Lead takes or renews the leader key, and reports whether this process has it. It expires with the TTL of the bucket
// unless it is renewed.
func (s *Schedules) Lead(ctx context.Context, who string) (bool, error) {
	var err error
	if s.revision == 0 {
		s.revision, err = s.lead.Create(ctx, s.key, []byte(who))
	} else {
		s.revision, err = s.lead.Update(ctx, s.key, []byte(who), s.revision)
	}
	if err == nil {
		return true, nil
	}
	if s.revision = 0; isConflict(err) || errors.Is(err, jetstream.ErrKeyExists) {
		return false, nil
	}
	return false, err
}

// Resign gives up the leader key.
func (s *Schedules) Resign(ctx context.Context) {
	if s.revision != 0 {
		_ = s.lead.Delete(ctx, s.key, jetstream.LastRevision(s.revision)) // else its time ends it
		s.revision = 0
	}
}

// Load reads the state of a notebook; the zero value if there is none yet.
func (s *Schedules) Load(ctx context.Context, key string) (state schedule.State, err error) {
	state, _, _, err = s.load(ctx, key)
	return state, err
}

func (s *Schedules) load(ctx context.Context, key string) (state schedule.State, was []byte, at uint64, err error) {
	var entry jetstream.KeyValueEntry
	err = s.q.retry(ctx, func() (err error) { entry, err = s.states.Get(ctx, key); return err })
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return state, nil, 0, nil
	}
	if err != nil {
		return state, nil, 0, err
	}
	return state, entry.Value(), entry.Revision(), codec.Unmarshal(entry.Value(), &state)
}

// Update changes the state of a notebook. It calls change again when another process has changed it meanwhile.
func (s *Schedules) Update(ctx context.Context, key string, change func(*schedule.State) error) error {
	for {
		state, was, at, err := s.load(ctx, key)
		if err == nil {
			err = change(&state)
		}
		if err != nil {
			return err
		}
		now, err := codec.Marshal(state)
		if err != nil || bytes.Equal(now, was) {
			return err
		}
		err = s.q.retry(ctx, func() (err error) {
			if at == 0 {
				_, err = s.states.Create(ctx, key, now)
			} else {
				_, err = s.states.Update(ctx, key, now, at)
			}
			return err
		})
		if !isConflict(err) && !errors.Is(err, jetstream.ErrKeyExists) {
			return err
		}
	}
}

// Find returns a job with its history; nil if there is none with that id.
func (q *Queue) Find(ctx context.Context, id string) (*queue.History, error) {
	h, err := q.read(ctx, id)
	if h == nil {
		return nil, err
	}
	return h.History, err
}
