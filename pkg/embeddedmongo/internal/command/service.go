// Package command implements the MongoDB commands of the subset.
package command

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/wire"
)

// Service executes commands on one engine. It is safe for concurrent use.
type Service struct {
	e         *storage.Engine
	log       *slog.Logger
	cursors   *cursors
	conns     atomic.Int32
	table     map[string]handler
	longReads *longReadLimiter
	failPoint *failPoint // Nil without Config.TestCommands.
}

// Config configures a service.
type Config struct {
	// Log gets the panics of commands.
	Log *slog.Logger
	// TestCommands allows configureFailPoint.
	TestCommands bool
}

// handler executes one command and returns the reply without "ok".
type handler struct {
	run     func(*Service, *request) (*value.Builder, error)
	options []string // Fields that the command accepts besides the general ones.
}

// reads are the commands that wait for their turn when they take long. Others hold locks.
var reads = map[string]bool{"find": true, "getMore": true, "aggregate": true, "count": true, "distinct": true}

// New makes a service.
func New(e *storage.Engine, c Config) *Service {
	s := &Service{e: e, log: c.Log, cursors: newCursors(e.Now), table: handlers(), longReads: newLongReadLimiter()}
	if c.TestCommands {
		s.failPoint = &failPoint{}
	}
	return s
}

// Close ends all cursors.
func (s *Service) Close() { s.cursors.closeAll() }

// Expire closes the cursors that were idle for longer than cursorLife.
func (s *Service) Expire() { s.cursors.expire() }

// NextConnection numbers a connection.
func (s *Service) NextConnection() int32 { return s.conns.Add(1) }

// general are the fields that every command accepts.
var general = map[string]bool{
	"$db": true, "lsid": true, "$clusterTime": true, "$readPreference": true, "comment": true, "maxTimeMS": true,
	"readConcern": true, "writeConcern": true, "apiVersion": true, "apiStrict": true, "apiDeprecationErrors": true,
}

// Handle executes the command of one message and returns the complete reply; nil when a fail point closes the connection. It never
// panics.
func (s *Service) Handle(ctx context.Context, conn int32, m *wire.Message) (reply value.Doc) {
	name, _ := m.Body.First()
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err := s.e.Failure(); err != nil {
			reply = failure(err) // The log failed under this command, or before it.
			return
		}
		s.log.Error("command panicked", "command", name, "panic", p, "stack", string(debug.Stack()))
		reply = failure(mongoerr.New(mongoerr.InternalError, "command %s: %v", name, p))
	}()
	if len(m.Body) > storage.MaxBSON {
		return failure(mongoerr.New(mongoerr.ObjectTooLarge, "command %s is larger than %d bytes: %d bytes", name, storage.MaxBSON, len(m.Body)))
	}
	r, err := s.newRequest(ctx, conn, m)
	if err != nil {
		return failure(err)
	}
	h, ok := s.table[r.name]
	if !ok {
		return failure(mongoerr.NotImplemented("command %s", r.name))
	}
	if err := r.check(h.options); err != nil {
		return failure(err)
	}
	injection := s.failPoint.enter(r)
	switch {
	case injection.closeConnection:
		return nil
	case injection.err != nil:
		return failure(injection.err, injection.labels...)
	}
	if err := s.failed(r); err != nil {
		return failure(err)
	}
	if reads[r.name] {
		r.takeTurns(s.longReads)
		defer r.slices.end()
		if len(m.Body) > longCommand {
			r.slices.checks = freeChecks
			if err := r.expired(); err != nil {
				return failure(err)
			}
		}
	}
	b, err := h.run(s, r)
	if err == nil && r.majority() {
		err = s.e.Durable()
	}
	if err := s.failed(r); err != nil {
		return failure(err) // The command may have read a write that is not on disk.
	}
	if err != nil {
		return failure(err)
	}
	if injection.writeConcernError != nil {
		b.Add("writeConcernError", value.OfDoc(injection.writeConcernError))
		addLabels(b, injection.labels)
	}
	return b.Add("ok", value.OfDouble(1)).Done()
}

// failed is the engine's failure, but nil for the handshake, which reads nothing. Drivers then get each command's error instead
// of waiting for the server.
func (s *Service) failed(r *request) error {
	switch r.name {
	case "hello", "isMaster", "ismaster":
		return nil
	}
	return s.e.Failure()
}

// failure is the reply for an error.
func failure(err error, labels ...string) value.Doc {
	e := asError(err)
	b := value.NewBuilder().Add("ok", value.OfDouble(0)).Add("errmsg", value.OfString(e.Message)).
		Int32("code", e.Code).Add("codeName", value.OfString(e.Name))
	addKeys(b, e)
	addLabels(b, labels)
	return b.Done()
}

func addLabels(b *value.Builder, labels []string) {
	if len(labels) == 0 {
		return
	}
	list := make([]value.Value, len(labels))
	for i, l := range labels {
		list[i] = value.OfString(l)
	}
	b.Add("errorLabels", value.OfArray(list))
}

func addKeys(b *value.Builder, e *mongoerr.Error) {
	if e.KeyPattern != nil {
		b.Add("keyPattern", value.OfDoc(e.KeyPattern)).Add("keyValue", value.OfDoc(e.KeyValue))
	}
}

func asError(err error) *mongoerr.Error {
	if e, ok := errors.AsType[*mongoerr.Error](err); ok {
		return e
	}
	return mongoerr.New(mongoerr.InternalError, "%v", err)
}

func handlers() map[string]handler {
	find := []string{"filter", "sort", "projection", "skip", "limit", "batchSize", "singleBatch", "hint", "returnKey", "allowDiskUse", "noCursorTimeout", "let", "collation"}
	m := map[string]handler{
		"hello":              {hello, []string{"helloOk", "client", "compression", "topologyVersion", "maxAwaitTimeMS", "loadBalanced", "saslSupportedMechs", "speculativeAuthenticate", "backpressure"}},
		"ping":               {nothing, nil},
		"buildInfo":          {buildInfo, nil},
		"endSessions":        {nothing, nil},
		"refreshSessions":    {nothing, nil},
		"killSessions":       {nothing, nil},
		"find":               {(*Service).find, find},
		"getMore":            {(*Service).getMore, []string{"collection", "batchSize"}},
		"killCursors":        {(*Service).killCursors, []string{"cursors"}},
		"aggregate":          {(*Service).aggregate, []string{"pipeline", "cursor", "allowDiskUse", "hint", "bypassDocumentValidation", "let", "collation"}},
		"count":              {(*Service).count, []string{"query", "skip", "limit", "hint", "collation"}},
		"distinct":           {(*Service).distinct, []string{"key", "query", "hint", "collation"}},
		"insert":             {(*Service).insert, []string{"documents", "ordered", "bypassDocumentValidation"}},
		"update":             {(*Service).update, []string{"updates", "ordered", "bypassDocumentValidation", "let"}},
		"delete":             {(*Service).delete, []string{"deletes", "ordered", "let"}},
		"findAndModify":      {(*Service).findAndModify, []string{"query", "sort", "remove", "update", "new", "fields", "upsert", "bypassDocumentValidation", "arrayFilters", "hint", "let", "collation"}},
		"create":             {(*Service).create, nil},
		"drop":               {(*Service).drop, nil},
		"dropDatabase":       {(*Service).dropDatabase, nil},
		"listCollections":    {(*Service).listCollections, []string{"filter", "nameOnly", "authorizedCollections", "cursor"}},
		"listDatabases":      {(*Service).listDatabases, []string{"filter", "nameOnly", "authorizedDatabases"}},
		"createIndexes":      {(*Service).createIndexes, []string{"indexes", "commitQuorum"}},
		"listIndexes":        {(*Service).listIndexes, []string{"cursor"}},
		"dropIndexes":        {(*Service).dropIndexes, []string{"index"}},
		"explain":            {(*Service).explain, []string{"verbosity"}},
		"configureFailPoint": {(*Service).configureFailPoint, []string{"mode", "data"}},
	}
	for alias, name := range map[string]string{"ismaster": "hello", "isMaster": "hello", "buildinfo": "buildInfo", "findandmodify": "findAndModify", "deleteIndexes": "dropIndexes"} {
		m[alias] = m[name]
	}
	return m
}

// Commands lists the command names that the service knows.
func Commands() []string {
	var names []string
	for n := range handlers() {
		names = append(names, n)
	}
	return names
}

func nothing(*Service, *request) (*value.Builder, error) { return value.NewBuilder(), nil }

func hello(_ *Service, r *request) (*value.Builder, error) {
	return value.NewBuilder().
		Add("helloOk", value.True).Add("ismaster", value.True).Add("isWritablePrimary", value.True).
		Int32("maxBsonObjectSize", storage.MaxDocument).Int32("maxMessageSizeBytes", wire.MaxMessage).Int32("maxWriteBatchSize", maxBatch).
		Add("localTime", value.OfDate(r.now)).Int32("logicalSessionTimeoutMinutes", 30).Int32("connectionId", r.conn).
		Int32("minWireVersion", 0).Int32("maxWireVersion", 21).Add("readOnly", value.False), nil
}

func buildInfo(*Service, *request) (*value.Builder, error) {
	return value.NewBuilder().Add("version", value.OfString("7.0.0")).Add("gitVersion", value.OfString("orch-embedded")).
		Add("versionArray", value.Of(bson.A{int32(7), int32(0), int32(0), int32(0)})).
		// Clients of a newer version find out by the modules which features this one has.
		Add("modules", value.OfArray([]value.Value{value.OfString("orch-embedded")})).
		Int32("bits", 64).Add("debug", value.False).Int32("maxBsonObjectSize", storage.MaxDocument), nil
}

// maxBatch is the largest number of writes in one command.
const maxBatch = 100000
