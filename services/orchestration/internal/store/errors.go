package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"

	"github.com/orch-project/orch/pkg/isolation"
)

var (
	// ErrNotFound means that the workspace has no such document.
	ErrNotFound = errors.New("no such document")
	// ErrDuplicate means that a unique key exists.
	ErrDuplicate = errors.New("duplicate unique key")
	// ErrContention means that other writers won too often; trying again may succeed.
	ErrContention = errors.New("too many concurrent writers of a document")
	// ErrTooLargeAnswer means that the documents of an answer without pages are too large together.
	ErrTooLargeAnswer = errors.New("the answer is too large")
	// ErrTooLargeQuery means that a query is larger than the database accepts.
	ErrTooLargeQuery = errors.New("the query is too large")
	// ErrUnavailable means that the database did not respond; it is unknown whether a write took place.
	ErrUnavailable = isolation.NewOutage("database unavailable")
)

// outageCodes are the server's error codes that are independent of the request: another attempt can succeed, maybe on another
// member of the replica set. The driver labels some of them for writes only, and none when its retries are off.
var outageCodes = []int{
	6,     // HostUnreachable
	7,     // HostNotFound
	43,    // CursorNotFound: the member that had the cursor restarted.
	50,    // MaxTimeMSExpired
	64,    // WriteConcernTimeout: a majority has not confirmed the write.
	89,    // NetworkTimeout
	91,    // ShutdownInProgress
	112,   // WriteConflict
	133,   // FailedToSatisfyReadPreference
	134,   // ReadConcernMajorityNotAvailableYet
	175,   // QueryPlanKilled
	189,   // PrimarySteppedDown
	202,   // NetworkInterfaceExceededTimeLimit
	237,   // CursorKilled
	262,   // ExceededTimeLimit
	365,   // TemporarilyUnavailable: the server lacks memory for the operation now.
	462,   // IngressRequestRateLimitExceeded
	9001,  // SocketException
	10058, // NotWritablePrimary of old servers
	10107, // NotWritablePrimary
	11600, // InterruptedAtShutdown
	11601, // Interrupted: an operator killed the operation.
	11602, // InterruptedDueToReplStateChange
	13435, // NotPrimaryNoSecondaryOk
	13436, // NotPrimaryOrSecondary
	14031, // OutOfDiskSpace
}

// outageLabels are the labels of such errors, whatever their codes.
var outageLabels = []string{"RetryableWriteError", "SystemOverloadedError"}

// outage marks errors that are independent of the request: a lost connection, a timeout, or a primary that stepped down.
func outage(err error) error {
	if err == nil || errors.Is(err, ErrUnavailable) || !isOutage(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func isOutage(err error) bool {
	if mongo.IsTimeout(err) || mongo.IsNetworkError(err) || errors.Is(err, mongo.ErrClientDisconnected) {
		return true
	}
	var pool driver.RetryablePoolError // A connection that another operation's network error closed.
	if errors.As(err, &pool) {
		return true
	}
	var server mongo.ServerError
	return errors.As(err, &server) &&
		(slices.ContainsFunc(outageLabels, server.HasErrorLabel) || slices.ContainsFunc(outageCodes, server.HasErrorCode))
}

// InDoubt reports whether a write with this error may have taken place.
func InDoubt(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
