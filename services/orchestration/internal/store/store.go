package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/isolation"
	"github.com/orch-project/orch/services/orchestration/internal/hourtotals"
	"github.com/orch-project/orch/services/orchestration/internal/names"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Config describes the database.
type Config struct {
	// URI is MongoDB's connection string.
	URI string
	// Database names the database.
	Database string
	// Dialer replaces TCP; nil means TCP. It reaches the embedded server without a port. A dialer that is an Executor also inserts and updates.
	Dialer options.ContextDialer
	// Clock and IDs are those of the process.
	Clock clock.Clock
	IDs   *id.Source
	// Program is the version of the program, which Claim records; empty records none.
	Program string
	// HourClock is the clock of hour totals, for tests; nil means that of the primary.
	HourClock hourtotals.Clock
	// Client adds options of the client, for tests that monitor commands.
	Client func(*options.ClientOptions)
	// Metrics may be nil.
	Metrics prometheus.Registerer
	// Trace makes each command a span below that of its context.
	Trace bool
	// Wait makes Open wait for a database that does not respond, until its context ends.
	Wait bool
	// Available is called after each command that succeeds; it may be nil.
	Available func()
	// Log gets the beginning and the end of the wait, and failures of background work; nil means slog.Default().
	Log *slog.Logger
}

// operationTimeout bounds one operation, so an unresponsive database does not block requests forever.
const operationTimeout = 5 * time.Second

// Store is the connection, and the state that all collections share.
type Store struct {
	client *mongo.Client
	db     *mongo.Database
	clock  clock.Clock
	ids    *id.Source
	relay  Relay
	// program is the version of the program.
	program string
	counts  *counts
	totals  *hourtotals.Totals
	names   *names.Dictionary
	// hourClock is the clock of the primary.
	hourClock hourtotals.Clock
	reads     *admission.Semaphore
	metrics   *metrics
	// passes record failures of background work.
	passes *isolation.Recorder
	// direct is nil unless the server is in this process.
	direct *direct
	// incomplete has the collections whose indexes are being built.
	incomplete *incomplete
	// elections delays reads until a new primary is up to date.
	elections *elections
	// sharded says that the server is a mongos.
	sharded bool
	// toOneMember says that the connection string names one member of a replica set (directConnection).
	toOneMember bool
}

// Open connects, and refuses a server that the store cannot work with (ErrServer). Writes are acknowledged when a
// majority has them on disk; reads return only such writes.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	journal := true
	opts := options.Client().ApplyURI(cfg.URI).
		SetAppName("orch").
		SetTimeout(operationTimeout).
		SetServerSelectionTimeout(operationTimeout).
		SetReadConcern(readconcern.Majority()).
		SetReadPreference(readpref.Primary()). // A secondary may lack the writes that a rule must see.
		SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: &journal})
	if cfg.Dialer != nil {
		opts.SetDialer(cfg.Dialer)
	}
	if cfg.Metrics == nil {
		cfg.Metrics = prometheus.NewRegistry()
	}
	building := &incomplete{}
	measured := newMetrics(cfg.Metrics, building)
	measured.available = cfg.Available
	var spans *event.CommandMonitor
	if cfg.Trace {
		spans = newCommandSpans().monitor()
	}
	opts.SetMonitor(measured.monitor(spans))
	elections := newElections()
	elections.observe(opts)
	if cfg.Client != nil {
		cfg.Client(opts)
	}
	client, err := mongo.Connect(opts)
	if err != nil {
		return nil, fmt.Errorf("connect to database: %w", err)
	}
	s := &Store{
		client:  client,
		db:      client.Database(cfg.Database),
		clock:   cfg.Clock,
		ids:     cfg.IDs,
		program: cfg.Program,
		metrics: measured, incomplete: building, passes: isolation.New(cmp.Or(cfg.Log, slog.Default()), cfg.Metrics),
		direct: newDirect(cfg, measured),
		relay:  noRelay{}, toOneMember: opts.Direct != nil && *opts.Direct,
		counts: &counts{}, elections: elections,
		reads: admission.NewSemaphore(admission.Reads),
	}
	if cfg.HourClock == nil {
		cfg.HourClock = &primaryClock{client: client}
	}
	s.hourClock = cfg.HourClock
	s.totals = hourtotals.New(s.db, cfg.HourClock, documentCounter{s})
	s.names = names.New(s.db)
	elections.start(s.Writable)
	if err := s.establish(ctx, cfg); err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// Relay executes the effects of writes. Package outbox implements it.
type Relay interface {
	// Wake queues a document of a workspace whose outbox has effects; for a deleted document the workspace may be its own id. It reports
	// whether the queue had room, and never blocks.
	Wake(collection query.Collection, ws, id uuid.UUID) bool
	// Settle executes the remaining effects of a deleted document, its removal included, so that a new document can use
	// its id.
	Settle(ctx context.Context, collection query.Collection, id uuid.UUID) error
}

// WithRelay returns the same store whose writes wake a relay for their effects. Without a relay the effects stay in
// their documents, for the sweeper of another process.
func (s *Store) WithRelay(r Relay) *Store {
	attached := *s
	attached.relay = r
	return &attached
}

// noRelay leaves every effect to a sweeper.
type noRelay struct{}

func (noRelay) Wake(query.Collection, uuid.UUID, uuid.UUID) bool { return true }

func (noRelay) Settle(context.Context, query.Collection, uuid.UUID) error { return nil }

// Pass begins a pass of background work over workspaces or documents. Its failures are logged and counted under the name.
func (s *Store) Pass(ctx context.Context, name string) *isolation.Pass {
	return s.passes.Begin(ctx, name)
}

// Ping reports whether the database responds.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.client.Ping(ctx, nil); err != nil {
		return fmt.Errorf("ping database: %w", outage(err))
	}
	return nil
}

// Close closes the connections.
func (s *Store) Close(ctx context.Context) error {
	s.elections.close()
	if err := s.client.Disconnect(ctx); err != nil {
		return fmt.Errorf("close database connections: %w", err)
	}
	return nil
}

// Now is the store's clock, in microseconds.
func (s *Store) Now() time.Time { return s.clock.Now() }

// Totals returns the hour totals of the database.
func (s *Store) Totals() *hourtotals.Totals { return s.totals }

// NewID generates an id.
func (s *Store) NewID() uuid.UUID { return s.ids.New() }

// Binary is the stored form of an id.
func Binary(u uuid.UUID) bson.Binary { return bson.Binary{Subtype: bson.TypeBinaryUUID, Data: u[:]} }

// UUID decodes an id from its stored form.
func UUID(v bson.RawValue) (uuid.UUID, error) {
	subtype, data, ok := v.BinaryOK()
	if !ok || subtype != bson.TypeBinaryUUID {
		return uuid.Nil, fmt.Errorf("decode stored id: unexpected type %s", v.Type)
	}
	u, err := uuid.FromBytes(data)
	if err != nil {
		return uuid.Nil, fmt.Errorf("decode stored id: %w", err)
	}
	return u, nil
}
