// Package statuserr maps the errors of the domain to gRPC and HTTP statuses, in one table.
package statuserr

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// unavailable makes clients retry after a second.
var unavailable = &orchv1.HttpError{
	Status:  http.StatusServiceUnavailable,
	Form:    &orchv1.HttpError_ExceptionMessage{ExceptionMessage: "Service Unavailable"},
	Headers: map[string]string{"Retry-After": "1"},
}

// outage is the response while the store or the broker is away: clients repeat the request until it is back.
var outage = &orchv1.HttpError{
	Status:  http.StatusServiceUnavailable,
	Form:    &orchv1.HttpError_ExceptionMessage{ExceptionMessage: "Service Unavailable"},
	Headers: map[string]string{"Retry-After": "1", vocabulary.MaintenanceHeader: "true"},
}

// table maps each sentinel of the domain to a status. A handler with a more specific error returns that itself.
var table = []struct {
	sentinel error
	answer   *orchv1.HttpError
}{
	{store.ErrNotFound, &orchv1.HttpError{Status: http.StatusNotFound, Form: &orchv1.HttpError_Detail{Detail: "Not Found"}}},
	{store.ErrDuplicate, &orchv1.HttpError{
		Status: http.StatusConflict,
		Form:   &orchv1.HttpError_Detail{Detail: "Data integrity conflict. This usually means a unique or foreign key constraint was violated."},
	}},
	{store.ErrContention, unavailable},
	{store.ErrSlowCount, &orchv1.HttpError{ // Before ErrUnavailable, which it matches too.
		Status:  http.StatusServiceUnavailable,
		Form:    &orchv1.HttpError_ExceptionMessage{ExceptionMessage: "The count took too long. Narrow the filter, or stop counting by a limit."},
		Headers: map[string]string{"Retry-After": "30"},
	}},
	{store.ErrSlowQuery, &orchv1.HttpError{
		Status:  http.StatusServiceUnavailable,
		Form:    &orchv1.HttpError_ExceptionMessage{ExceptionMessage: "The query took too long. Narrow the filter, such as by a time window or a longer text, or read deep pages by page_token."},
		Headers: map[string]string{"Retry-After": "30"},
	}},
	{admission.ErrExhausted, unavailable}, // Before ErrBusy, which it matches too.
	{admission.ErrBusy, &orchv1.HttpError{
		Status:  http.StatusTooManyRequests,
		Form:    &orchv1.HttpError_ExceptionMessage{ExceptionMessage: "The workspace has too many queries in progress. Send fewer at a time."},
		Headers: map[string]string{"Retry-After": "1"},
	}},
	{store.ErrUnavailable, outage},
	{broker.ErrUnavailable, outage},
	{broker.ErrTooLarge, &orchv1.HttpError{Status: http.StatusRequestEntityTooLarge, Form: &orchv1.HttpError_Detail{Detail: "Event too large"}}},
	{store.ErrTooLargeAnswer, &orchv1.HttpError{
		Status: http.StatusUnprocessableEntity,
		Form:   &orchv1.HttpError_Detail{Detail: "The documents of the answer have more than 32 MiB. Request fewer, by a narrower filter or by a list with pages."},
	}},
	{store.ErrTooLargeQuery, &orchv1.HttpError{
		Status: http.StatusUnprocessableEntity,
		Form:   &orchv1.HttpError_Detail{Detail: "The filter is larger than the database accepts; name fewer values."},
	}},
	{query.ErrTooBroad, &orchv1.HttpError{
		Status: http.StatusUnprocessableEntity,
		Form:   &orchv1.HttpError_Detail{Detail: "The related filter matches more than 10,000 documents, and the list has too many to test each. Narrow the related filter, or filter the list too, by a time window, a state or a flow."},
	}},
	{query.ErrBroadSearch, &orchv1.HttpError{
		Status: http.StatusUnprocessableEntity,
		Form:   &orchv1.HttpError_Detail{Detail: "The search for a text would read more than 100,000 documents. Select a flow run, a task run or a resource, or a shorter time window."},
	}},
	{query.ErrLongText, &orchv1.HttpError{ // Before ErrOperand, which it matches too.
		Status: http.StatusUnprocessableEntity,
		Form:   &orchv1.HttpError_Detail{Detail: fmt.Sprintf("The filter searches for a text of more than %d bytes.", query.MaxPattern)},
	}},
	{query.ErrOperand, &orchv1.HttpError{
		Status: http.StatusUnprocessableEntity,
		Form:   &orchv1.HttpError_Detail{Detail: "The filter holds a value that cannot be compared with."},
	}},
	{request.ErrNoWorkspace, &orchv1.HttpError{Status: http.StatusUnauthorized, Form: &orchv1.HttpError_ExceptionMessage{ExceptionMessage: "Unauthorized"}}},
}

// FromDomain returns the gRPC error of a domain error. A status error is returned unchanged.
func FromDomain(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	for _, row := range table {
		if errors.Is(err, row.sentinel) {
			return rpc.Error(row.answer)
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	return status.Error(codes.Internal, "internal error")
}

// Interceptor translates the errors of handlers, and logs those whose cause is hidden from clients.
func Interceptor(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		response, err := next(ctx, r)
		if err == nil {
			return response, nil
		}
		translated := FromDomain(err)
		switch status.Code(translated) {
		case codes.Internal:
			log.ErrorContext(ctx, "failed to serve a request: unmapped error", "method", info.FullMethod, "error", err)
		case codes.Unavailable:
			log.WarnContext(ctx, "failed to serve a request: service unavailable", "method", info.FullMethod, "error", err)
		}
		return nil, translated
	}
}
