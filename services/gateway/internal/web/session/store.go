package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
)

const (
	// Bucket is the name of the broker's bucket.
	Bucket = "sessions"

	maxAge  = 12 * time.Hour
	maxIdle = 2 * time.Hour
	// touchEvery is the minimum interval between two stored times of use.
	touchEvery = 5 * time.Minute
	sweepEvery = 10 * time.Minute
	// markerAge is how long the bucket keeps the marker of a session that ended, for replicas that were cut off.
	markerAge  = 24 * time.Hour
	tokenBytes = 32
)

// Session is a signed-in browser.
type Session struct {
	// ID identifies the session without granting access: the digest of its token.
	ID string `json:"-"`
	// Digest is the SHA-256 of the API key, or of user:password, in hexadecimal digits.
	Digest string `json:"digest"`
	// Opened and Used are the times of sign-in and of the latest stored request.
	Opened time.Time `json:"opened"`
	Used   time.Time `json:"used"`
	// Agent and Address describe the browser to its owner.
	Agent   string `json:"agent,omitempty"`
	Address string `json:"address,omitempty"`
}

// bucket is the part of broker.KV that a Store needs.
type bucket interface {
	Swap(ctx context.Context, key string, decide func(current []byte) (next []byte, err error)) error
	Get(ctx context.Context, key string) ([]byte, error)
	Delete(ctx context.Context, key string) error
	CompactDeleted(ctx context.Context, age time.Duration) error
	Watch(ctx context.Context, handle func(broker.Change)) error
}

// Options are the dependencies of a Store.
type Options struct {
	// Bucket shares sessions between replicas; nil keeps them in memory.
	Bucket bucket
	Clock  clock.Clock
	Log    *slog.Logger
}

// Store holds the open sessions. It is safe for concurrent use.
type Store struct {
	opts Options

	mu       sync.Mutex
	sessions map[string]Session // By id.
	// closed are ids whose end the watch has not delivered yet: it may still deliver an older value.
	closed map[string]struct{}
}

// errClosed reports that a session ended on another replica.
var errClosed = errors.New("session: closed")

// NewStore returns a store that Run keeps current.
func NewStore(opts Options) *Store {
	if opts.Clock == nil {
		opts.Clock = clock.System{}
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	return &Store{opts: opts, sessions: map[string]Session{}, closed: map[string]struct{}{}}
}

// idOf returns the id of the session with a token.
func idOf(token string) string {
	digest := sha256.Sum256([]byte(token))
	return hex.EncodeToString(digest[:])
}

// Open stores a session and returns its token, which only the cookie has.
func (s *Store) Open(ctx context.Context, session Session) (token string, err error) {
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // It never returns an error: the process ends instead.
	token = base64.RawURLEncoding.EncodeToString(random)
	session.ID = idOf(token)
	session.Opened = s.opts.Clock.Now()
	session.Used = session.Opened
	if err := s.put(ctx, session, true); err != nil {
		return "", err
	}
	return token, nil
}

// put stores a session, or the use of one. Only a new session may be absent from the bucket: a used one was closed.
func (s *Store) put(ctx context.Context, session Session, isNew bool) error {
	if s.opts.Bucket != nil {
		value, err := json.Marshal(session)
		if err != nil {
			return fmt.Errorf("encode session: %w", err)
		}
		err = s.opts.Bucket.Swap(ctx, session.ID, func(current []byte) ([]byte, error) {
			if current == nil && !isNew {
				return nil, errClosed
			}
			return value, nil
		})
		if err != nil {
			return fmt.Errorf("store session: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.sessions[session.ID]; open || isNew {
		s.sessions[session.ID] = session
	}
	return nil
}

// Find returns the session of a token. It returns false for an unknown or expired one.
func (s *Store) Find(ctx context.Context, token string) (Session, bool) {
	if len(token) != base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return Session{}, false
	}
	id := idOf(token)
	s.mu.Lock()
	session, ok := s.sessions[id]
	s.mu.Unlock()
	if !ok {
		if session, ok = s.read(ctx, id); !ok {
			return Session{}, false
		}
	}
	now := s.opts.Clock.Now()
	if session.expired(now) {
		return Session{}, false
	}
	if now.Sub(session.Used) >= touchEvery {
		session.Used = now
		if err := s.put(ctx, session, false); errors.Is(err, errClosed) {
			s.forget(id)
			return Session{}, false
		} else if err != nil {
			s.opts.Log.WarnContext(ctx, "failed to store the use of a session", "error", err)
		}
	}
	return session, true
}

// List returns the open sessions, the latest first.
func (s *Store) List() []Session {
	now := s.opts.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	var open []Session
	for _, session := range s.sessions {
		if !session.expired(now) {
			open = append(open, session)
		}
	}
	slices.SortFunc(open, func(a, b Session) int { return cmp.Or(b.Opened.Compare(a.Opened), strings.Compare(a.ID, b.ID)) })
	return open
}

// Alive reports whether the session with an id is open. It does not count as a use, so an open page does not keep its session.
func (s *Store) Alive(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, ok := s.sessions[id]
	return ok && !session.expired(s.opts.Clock.Now())
}

// read reads a session that another replica opened a moment ago.
func (s *Store) read(ctx context.Context, id string) (Session, bool) {
	if s.opts.Bucket == nil {
		return Session{}, false
	}
	value, err := s.opts.Bucket.Get(ctx, id)
	if err != nil {
		return Session{}, false
	}
	return decode(id, value)
}

func decode(id string, value []byte) (Session, bool) {
	var session Session
	if err := json.Unmarshal(value, &session); err != nil {
		return Session{}, false
	}
	session.ID = id
	return session, true
}

func (s Session) expired(now time.Time) bool {
	return now.Sub(s.Opened) >= maxAge || now.Sub(s.Used) >= maxIdle
}

// Close ends the session with an id. Closing an unknown one is no error.
func (s *Store) Close(ctx context.Context, id string) error {
	if s.opts.Bucket != nil {
		if err := s.opts.Bucket.Delete(ctx, id); err != nil {
			return fmt.Errorf("end session: %w", err)
		}
	}
	s.forget(id)
	return nil
}

// forget removes a closed session from memory. Until the watch delivers its end, values of it are old.
func (s *Store) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.sessions[id]; open && s.opts.Bucket != nil {
		s.closed[id] = struct{}{}
	}
	delete(s.sessions, id)
}

// Run follows the bucket and removes expired sessions until ctx ends.
func (s *Store) Run(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(sweepEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				s.sweep(ctx)
			}
		}
	}()
	defer func() { <-done }()
	if s.opts.Bucket == nil {
		<-ctx.Done()
		return nil
	}
	return s.opts.Bucket.Watch(ctx, s.apply)
}

func (s *Store) apply(change broker.Change) {
	if change.InitialDone {
		return
	}
	session, ok := decode(change.Key, change.Value)
	s.mu.Lock()
	defer s.mu.Unlock()
	if change.Deleted || !ok {
		delete(s.sessions, change.Key)
		delete(s.closed, change.Key)
		return
	}
	if _, closed := s.closed[change.Key]; !closed {
		s.sessions[change.Key] = session
	}
}

// sweep removes expired sessions from memory and bucket.
func (s *Store) sweep(ctx context.Context) {
	now := s.opts.Clock.Now()
	s.mu.Lock()
	var expired []string
	for id, session := range s.sessions {
		if session.expired(now) {
			expired = append(expired, id)
		}
	}
	s.mu.Unlock()
	for _, id := range expired {
		if err := s.Close(ctx, id); err != nil {
			s.opts.Log.WarnContext(ctx, "failed to remove an expired session", "error", err)
			return
		}
	}
	if s.opts.Bucket == nil {
		return
	}
	if err := s.opts.Bucket.CompactDeleted(ctx, markerAge); err != nil {
		s.opts.Log.WarnContext(ctx, "failed to compact the bucket of sessions", "error", err)
	}
}
