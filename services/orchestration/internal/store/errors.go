package store

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

var (
	// ErrNotFound means that the workspace has no such document.
	ErrNotFound = errors.New("no such document")
	// ErrDuplicate means that a unique key is taken.
	ErrDuplicate = errors.New("a unique key is taken")
	// ErrContention means that other writers won too often; trying again may succeed.
	ErrContention = errors.New("too many writers of one document")
	// ErrUnavailable means that the database did not answer; whether a write took place is unknown.
	ErrUnavailable = errors.New("the database is not available")
)

// outage marks errors that say nothing of the request: the connection is gone, the time is over.
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

// InDoubt tells whether a write that came to this end may have taken place all the same.
func InDoubt(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// outOfDiskSpace is the server's code for a write that found no room.
const outOfDiskSpace = 14031
