package store

import (
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"

	"github.com/orch-project/orch/pkg/isolation"
)

// permanentError marks an error that every further attempt would return again.
type permanentError struct{ error }

func (e permanentError) Unwrap() error        { return e.error }
func (e permanentError) Is(target error) bool { return target == isolation.ErrPermanent }

// Permanent marks an error of an effect that every further attempt would return again: the effect cannot be decoded, or
// its operation is refused. Nil stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

// Server error codes for documents that it always refuses.
const (
	codeBadValue          = 2
	codeFailedToParse     = 9
	codeNestingTooDeep    = 15
	codeInvalidDocument   = 121
	codeParallelArrays    = 171
	codeDocumentTooLarge  = 10334
	codeResultTooLarge    = 17419
	codeInsertTooLarge    = 17420
	codeDocumentTooNested = 10320
	codeIndexKeyTooLong   = 17280
)

// IsPermanent reports whether an error is marked as permanent, by Permanent or by the broker, or means that the database refuses a
// document.
func IsPermanent(err error) bool {
	if errors.Is(err, isolation.ErrPermanent) || errors.Is(err, driver.ErrDocumentTooLarge) {
		return true
	}
	var server mongo.ServerError
	if !errors.As(err, &server) {
		return false
	}
	return slices.ContainsFunc([]int{
		codeBadValue, codeFailedToParse, codeNestingTooDeep, codeInvalidDocument, codeParallelArrays, codeDocumentTooLarge,
		codeResultTooLarge, codeInsertTooLarge, codeDocumentTooNested, codeIndexKeyTooLong,
	}, server.HasErrorCode)
}
