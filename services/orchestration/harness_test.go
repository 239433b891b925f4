package orchestration_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

// domain is the service on an embedded store and an embedded broker, called in process.
type domain struct {
	*rpc.Local
	t       *testing.T
	broker  *broker.Conn
	nats    *embeddednats.Server
	store   *mongotest.Database
	service *orchestration.Orchestration
	keys    secrets.Keyring
	monitor *monitor
}

// keys is a key to seal secrets with.
func keys(t *testing.T) secrets.Keyring {
	t.Helper()
	ring, err := secrets.Parse(secrets.NewKey())
	require.NoError(t, err)
	return ring
}

type option func(*orchestration.Config)

func newDomain(t *testing.T, opts ...option) *domain {
	t.Helper()
	d := newIdleDomain(t, slog.DiscardHandler, opts...)
	d.start()
	return d
}

// newIdleDomain is newDomain for tests that read the log, or that start the workers themselves.
func newIdleDomain(t *testing.T, handler slog.Handler, opts ...option) *domain {
	t.Helper()
	log := slog.New(handler)
	nats, err := embeddednats.Start(embeddednats.Options{Dir: t.TempDir(), Logger: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, nats.Close()) })
	database := mongotest.Open(t, embeddedmongo.Options{TestCommands: true})
	ring := keys(t)
	cfg := orchestration.Config{
		MongoDBURI: database.URI, MongoDBDatabase: database.Name, Vocabulary: vocabulary.Orch,
		EventsRetention: time.Hour, Secrets: ring,
	}
	for _, o := range opts {
		o(&cfg)
	}
	conn, err := broker.Connect(t.Context(), broker.Config{InProcess: nats.InProcess(), BucketBytes: cfg.Broker.BucketBytes, Logger: log})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	flush := time.Minute // A busy machine must not show a test what was there before its write.
	if cfg.Broker.BucketBytes > 0 {
		flush = time.Second // Effects that find no room in a bucket wait.
	}
	monitor := newMonitor(t)
	service, err := orchestration.New(t.Context(), cfg, orchestration.Deps{
		Broker: conn, Dialer: database.Dialer, Log: log,
		Client:        func(o *options.ClientOptions) { monitor.watch(o.SetAppName(database.AppName)) },
		FlushDeadline: flush,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, service.Close(context.WithoutCancel(t.Context()))) })

	local := rpc.NewLocal(service.Interceptors()...)
	service.Register(local)
	d := &domain{Local: local, t: t, broker: conn, nats: nats, store: database, service: service, keys: ring, monitor: monitor}
	database.Connect() // Its client ends after the check.
	t.Cleanup(d.checkStoredJSON)
	return d
}

// start runs the workers until the test ends.
func (d *domain) start() {
	group := run.NewGroup(run.Options{Logger: slog.New(slog.DiscardHandler)})
	group.Add(d.service.Workers()...)
	ctx, cancel := context.WithCancel(context.WithoutCancel(d.t.Context()))
	done := make(chan error, 1)
	go func() { done <- group.Run(ctx) }()
	d.t.Cleanup(func() {
		cancel()
		require.NoError(d.t, <-done)
	})
}

// in is a context of a workspace.
func in(t *testing.T, workspace uuid.UUID) context.Context {
	return request.Outgoing(t.Context(), request.Info{
		Account: request.DefaultAccount, Workspace: workspace,
		PublicURL: "http://orch.test/api", HooksURL: "http://orch.test/hooks",
	})
}

// try calls a method in the default workspace.
func try[R proto.Message](d *domain, method string, r proto.Message) (R, rpc.Reply, error) {
	return tryIn[R](d, request.DefaultWorkspace, method, r)
}

func tryIn[R proto.Message](d *domain, workspace uuid.UUID, method string, r proto.Message) (R, rpc.Reply, error) {
	response, reply, err := d.Call(in(d.t, workspace), method, r)
	typed, _ := response.(R)
	return typed, reply, err
}

// call is try for calls that must succeed.
func call[R proto.Message](d *domain, method string, r proto.Message) R {
	d.t.Helper()
	response, _, err := try[R](d, method, r)
	require.NoError(d.t, err)
	return response
}

// status is the HTTP status of an error, and the text that a client reads.
func status(err error) (int, string) {
	e := rpc.HTTPError(err)
	return int(e.GetStatus()), e.GetDetail() + e.GetExceptionMessage()
}

func (d *domain) flow(name string) *orchv1.Flow {
	d.t.Helper()
	return call[*orchv1.Flow](d, orchv1.FlowService_CreateFlow_FullMethodName,
		&orchv1.CreateFlowRequest{Flow: &orchv1.FlowCreate{Name: name}})
}

func (d *domain) run(flow *orchv1.Flow, edits ...func(*orchv1.FlowRunCreate)) *orchv1.FlowRun {
	d.t.Helper()
	create := &orchv1.FlowRunCreate{FlowId: flow.GetId()}
	for _, edit := range edits {
		edit(create)
	}
	return call[*orchv1.FlowRun](d, orchv1.FlowRunService_CreateFlowRun_FullMethodName, &orchv1.CreateFlowRunRequest{FlowRun: create})
}

func (d *domain) setState(run *orchv1.FlowRun, kind orchv1.StateType) *orchv1.OrchestrationResult {
	d.t.Helper()
	return call[*orchv1.OrchestrationResult](d, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
		Id: run.GetId(), Transition: &orchv1.FlowRunTransition{State: &orchv1.StateCreate{Type: kind}},
	})
}

// eventually asks until a condition holds. It is for what follows a write through the broker.
func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, 2*time.Millisecond, what)
}
