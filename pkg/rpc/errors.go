package rpc

import (
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Error returns a gRPC error with an HTTP response. Its code derives from the HTTP status, for callers that do not read
// the details.
func Error(e *orchv1.HttpError) error {
	s := status.New(codeOf(int(e.GetStatus())), message(e))
	with, err := s.WithDetails(e)
	if err != nil {
		return s.Err()
	}
	return with.Err()
}

// Detail returns an error with the body {"detail": text}.
func Detail(httpStatus int, text string) error {
	return Error(&orchv1.HttpError{Status: int32(httpStatus), Form: &orchv1.HttpError_Detail{Detail: text}})
}

// ExceptionMessage returns an error with the body {"exception_message": text}.
func ExceptionMessage(httpStatus int, text string) error {
	return Error(&orchv1.HttpError{Status: int32(httpStatus), Form: &orchv1.HttpError_ExceptionMessage{ExceptionMessage: text}})
}

// Invalid returns the standard 422 for field errors that only the service can detect.
func Invalid(fieldErrors ...*orchv1.FieldError) error {
	return Error(&orchv1.HttpError{
		Status: http.StatusUnprocessableEntity,
		Form:   &orchv1.HttpError_FieldErrors{FieldErrors: &orchv1.FieldErrors{Errors: fieldErrors}},
	})
}

// BodyError returns a field error of a value in the request body, at a path of keys.
func BodyError(kind, text string, path ...string) *orchv1.FieldError {
	return fieldError("body", kind, text, path)
}

// QueryError returns a field error of a query parameter.
func QueryError(kind, text string, path ...string) *orchv1.FieldError {
	return fieldError("query", kind, text, path)
}

func fieldError(in, kind, text string, path []string) *orchv1.FieldError {
	e := &orchv1.FieldError{Msg: text, Type: kind}
	for _, key := range append([]string{in}, path...) {
		e.Loc = append(e.Loc, &orchv1.PathElement{Kind: &orchv1.PathElement_Key{Key: key}})
	}
	return e
}

// HTTPError returns the HTTP response of an error, or the default of its code.
func HTTPError(err error) *orchv1.HttpError {
	s := status.Convert(err)
	for _, detail := range s.Details() {
		if e, ok := detail.(*orchv1.HttpError); ok {
			return e
		}
	}
	return fallback(s.Code())
}

func message(e *orchv1.HttpError) string {
	switch form := e.GetForm().(type) {
	case *orchv1.HttpError_Detail:
		return form.Detail
	case *orchv1.HttpError_ExceptionMessage:
		return form.ExceptionMessage
	case *orchv1.HttpError_FieldErrors:
		if fieldErrors := form.FieldErrors.GetErrors(); len(fieldErrors) > 0 {
			return fieldErrors[0].GetMsg()
		}
	}
	return http.StatusText(int(e.GetStatus()))
}

// httpStatus is the default for errors without an HTTP response. A test requires a row for every code.
var httpStatus = map[codes.Code]int{
	codes.OK:                 http.StatusOK,
	codes.Canceled:           499, // The client closed the connection.
	codes.Unknown:            http.StatusInternalServerError,
	codes.InvalidArgument:    http.StatusUnprocessableEntity,
	codes.DeadlineExceeded:   http.StatusServiceUnavailable,
	codes.NotFound:           http.StatusNotFound,
	codes.AlreadyExists:      http.StatusConflict,
	codes.PermissionDenied:   http.StatusForbidden,
	codes.ResourceExhausted:  http.StatusTooManyRequests,
	codes.FailedPrecondition: http.StatusConflict,
	codes.Aborted:            http.StatusServiceUnavailable,
	codes.OutOfRange:         http.StatusUnprocessableEntity,
	codes.Unimplemented:      http.StatusNotImplemented,
	codes.Internal:           http.StatusInternalServerError,
	codes.Unavailable:        http.StatusServiceUnavailable,
	codes.DataLoss:           http.StatusInternalServerError,
	codes.Unauthenticated:    http.StatusUnauthorized,
}

// fallback describes the code to a client without internal details.
func fallback(code codes.Code) *orchv1.HttpError {
	number, ok := httpStatus[code]
	if !ok {
		number = http.StatusInternalServerError
	}
	text := "Internal Server Error"
	if number != http.StatusInternalServerError && number != 499 {
		text = http.StatusText(number)
	}
	e := &orchv1.HttpError{Status: int32(number), Form: &orchv1.HttpError_ExceptionMessage{ExceptionMessage: text}}
	if number == http.StatusServiceUnavailable {
		e.Headers = map[string]string{"Retry-After": "1"}
	}
	if code == codes.Unavailable { // An outage ends by itself. A deadline may depend on the request.
		e.Headers[vocabulary.MaintenanceHeader] = "true"
	}
	return e
}

func codeOf(httpStatus int) codes.Code {
	switch httpStatus {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return codes.InvalidArgument
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	case http.StatusNotFound, http.StatusGone:
		return codes.NotFound
	case http.StatusConflict:
		return codes.AlreadyExists
	case http.StatusLocked, http.StatusTooManyRequests:
		return codes.ResourceExhausted
	case http.StatusServiceUnavailable:
		return codes.Unavailable
	}
	if httpStatus >= http.StatusInternalServerError {
		return codes.Internal
	}
	return codes.FailedPrecondition
}
