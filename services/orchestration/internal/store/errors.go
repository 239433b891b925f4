package store

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

var (
	// ErrNotFound means that the workspace has no such document.
	ErrNotFound = errors.New("no such document")
	// ErrDuplicate means that a unique key exists.
	ErrDuplicate = errors.New("duplicate unique key")
	// ErrContention means that other writers won too often; trying again may succeed.
	ErrContention = errors.New("too many concurrent writers of a document")
	// ErrUnavailable means that the database did not respond; it is unknown whether a write took place.
	ErrUnavailable = errors.New("database unavailable")
)

// outage marks errors that are independent of the request: a lost connection or a timeout.
func outage(err error) error {
	if err == nil {
		return nil
	}
	var server mongo.ServerError
	if mongo.IsTimeout(err) || mongo.IsNetworkError(err) || errors.Is(err, mongo.ErrClientDisconnected) ||
		(errors.As(err, &server) && (server.HasErrorLabel("RetryableWriteError") || server.HasErrorCode(outOfDiskSpace))) {
		return errors.Join(ErrUnavailable, err)
	}
	return err
}

// InDoubt reports whether a write with this error may have taken place.
func InDoubt(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// outOfDiskSpace is the server's error code for a full disk.
const outOfDiskSpace = 14031
