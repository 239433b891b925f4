package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// TestOutage: what an error of the server says about the request.
func TestOutage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"overload by its label":        {mongo.CommandError{Code: 1, Labels: []string{"SystemOverloadedError"}}, true},
		"overload of a write":          {mongo.WriteException{Labels: []string{"SystemOverloadedError"}}, true},
		"retryable write":              {mongo.CommandError{Code: 1, Labels: []string{"RetryableWriteError"}}, true},
		"time limit of the network":    {mongo.CommandError{Code: 202}, true},
		"temporarily unavailable":      {mongo.CommandError{Code: 365}, true},
		"too many requests":            {mongo.CommandError{Code: 462}, true},
		"step-down":                    {mongo.CommandError{Code: 189}, true},
		"unconfirmed by a majority":    {mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: 64}}, true},
		"bad value":                    {mongo.CommandError{Code: 2}, false},
		"duplicate key":                {mongo.WriteException{WriteErrors: []mongo.WriteError{{Code: 11000}}}, false},
		"an error of another package":  {errors.New("no"), false},
		"an outage that is marked yet": {fmt.Errorf("read: %w", ErrUnavailable), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, errors.Is(outage(c.err), ErrUnavailable))
		})
	}
}
