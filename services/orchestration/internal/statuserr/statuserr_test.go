package statuserr_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/statuserr"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestTableIsTotal checks the status of each sentinel of the packages that handlers call.
func TestTableIsTotal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sentinel error
		want     int32
	}{
		{store.ErrNotFound, 404},
		{store.ErrDuplicate, 409},
		{store.ErrContention, 503},
		{store.ErrUnavailable, 503},
		{store.ErrSlowCount, 503},
		{store.ErrSlowQuery, 503},
		{store.ErrFormat, 500},
		{broker.ErrUnavailable, 503},
		{broker.ErrClosed, 503},
		{broker.ErrTooLarge, 413},
		{broker.ErrInvalidEvent, 500},
		{query.ErrTooBroad, 422},
		{admission.ErrBusy, 429},
		{admission.ErrExhausted, 503},
		{query.ErrLongText, 422},
		{query.ErrOperand, 422},
		{query.ErrUnsupported, 500},
		{query.ErrRelated, 500},
		{query.ErrSort, 500},
		{request.ErrNoWorkspace, 401},
		{context.Canceled, 499},
		{context.DeadlineExceeded, 503},
	} {
		t.Run(fmt.Sprint(c.sentinel), func(t *testing.T) {
			wrapped := fmt.Errorf("do something: %w", c.sentinel)
			require.Equal(t, c.want, rpc.HTTPError(statuserr.FromDomain(wrapped)).GetStatus(), c.sentinel.Error())
		})
	}
}

// TestASlowCountSaysSo: an immediate retry would walk as long again.
func TestASlowCountSaysSo(t *testing.T) {
	t.Parallel()
	e := rpc.HTTPError(statuserr.FromDomain(fmt.Errorf("count flows: %w: %w", store.ErrSlowCount, store.ErrUnavailable)))
	require.Contains(t, e.GetExceptionMessage(), "The count took too long")
	require.Equal(t, "30", e.GetHeaders()["Retry-After"])
}

// Clients repeat a request that met an outage until it ends, and others a few times.
func TestOutagesAreMarked(t *testing.T) {
	t.Parallel()
	for sentinel, want := range map[error]string{
		store.ErrUnavailable: "true", broker.ErrUnavailable: "true", broker.ErrClosed: "true",
		store.ErrContention: "", store.ErrSlowQuery: "", admission.ErrExhausted: "", admission.ErrBusy: "", context.DeadlineExceeded: "",
	} {
		t.Run(sentinel.Error(), func(t *testing.T) {
			headers := rpc.HTTPError(statuserr.FromDomain(sentinel)).GetHeaders()
			require.Equal(t, want, headers[vocabulary.MaintenanceHeader])
			require.NotEmpty(t, headers["Retry-After"])
		})
	}
}

func TestErrorsOfTheWireStay(t *testing.T) {
	t.Parallel()
	err := rpc.Detail(404, "Flow not found")
	require.Equal(t, err, statuserr.FromDomain(err))
	require.NoError(t, statuserr.FromDomain(nil))
}

func TestClientsReadNothingOfWhatWentOnInside(t *testing.T) {
	t.Parallel()
	err := statuserr.FromDomain(fmt.Errorf("connect to secret-host: refused"))
	require.Equal(t, codes.Internal, status.Code(err))
	require.NotContains(t, err.Error(), "secret-host")
}

// TestALongTextSaysSo: a text that is too long was answered as a value that cannot be compared.
func TestALongTextSaysSo(t *testing.T) {
	t.Parallel()
	e := rpc.HTTPError(statuserr.FromDomain(fmt.Errorf("search: %w", query.ErrLongText)))
	require.EqualValues(t, 422, e.GetStatus())
	require.Contains(t, e.GetDetail(), "more than 8192 bytes")
}
