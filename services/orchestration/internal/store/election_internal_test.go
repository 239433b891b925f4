package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/address"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// electionTest drives elections as the driver does.
type electionTest struct {
	elections *elections
	opts      *options.ClientOptions
	// confirmations receives the result of each attempt to confirm a primary.
	confirmations chan error
}

func newElectionTest(t *testing.T) *electionTest {
	e := &electionTest{elections: newElections(), opts: options.Client().SetMonitor(&event.CommandMonitor{}), confirmations: make(chan error)}
	e.elections.observe(e.opts)
	e.elections.start(func(ctx context.Context) error {
		select {
		case err := <-e.confirmations:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	t.Cleanup(e.elections.close)
	return e
}

func (e *electionTest) elect(member string, term byte) {
	e.opts.ServerMonitor.TopologyDescriptionChanged(&event.TopologyDescriptionChangedEvent{NewDescription: event.TopologyDescription{
		Servers: []event.ServerDescription{
			{Addr: "other:27017", Kind: "RSSecondary"},
			{Addr: address.Address(member), Kind: "RSPrimary", ElectionID: bson.ObjectID{11: term}},
		},
	}})
}

// read starts a command with a read concern and returns a channel that is closed when the driver may send it.
func (e *electionTest) read(ctx context.Context, t *testing.T, level string) chan struct{} {
	t.Helper()
	command, err := bson.Marshal(bson.D{{Key: "find", Value: "flow"}, {Key: "readConcern", Value: bson.D{{Key: "level", Value: level}}}})
	require.NoError(t, err)
	sent := make(chan struct{})
	go func() {
		e.opts.Monitor.Started(ctx, &event.CommandStartedEvent{Command: command})
		close(sent)
	}()
	synctest.Wait()
	return sent
}

func requireSent(t *testing.T, sent chan struct{}, want bool) {
	t.Helper()
	synctest.Wait()
	select {
	case <-sent:
		require.True(t, want, "the command was sent")
	default:
		require.False(t, want, "the command was not sent")
	}
}

func TestMajorityReadsWaitForANewPrimary(t *testing.T) {
	t.Run("until a majority has its writes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := newElectionTest(t)
			requireSent(t, e.read(t.Context(), t, "majority"), true)
			e.elect("a:27017", 1)
			read := e.read(t.Context(), t, "majority")
			requireSent(t, read, false)
			requireSent(t, e.read(t.Context(), t, "local"), true)
			e.confirmations <- nil
			requireSent(t, read, true)
			e.elect("a:27017", 1) // The topology changed in another way.
			requireSent(t, e.read(t.Context(), t, "majority"), true)
		})
	})
	t.Run("again when the same member is elected again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := newElectionTest(t)
			e.elect("a:27017", 1)
			e.confirmations <- nil
			e.elect("a:27017", 2)
			read := e.read(t.Context(), t, "majority")
			requireSent(t, read, false)
			e.confirmations <- nil
			requireSent(t, read, true)
		})
	})
	t.Run("a confirmation of an earlier primary does not count", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := newElectionTest(t)
			e.elect("a:27017", 1)
			e.elect("b:27017", 2)
			read := e.read(t.Context(), t, "majority")
			e.confirmations <- nil
			e.confirmations <- nil // One of both was the write to a.
			requireSent(t, read, true)
		})
	})
	t.Run("a failed confirmation is repeated", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := newElectionTest(t)
			e.elect("a:27017", 1)
			read := e.read(t.Context(), t, "majority")
			e.confirmations <- errors.New("not primary")
			requireSent(t, read, false)
			e.confirmations <- nil
			requireSent(t, read, true)
		})
	})
	t.Run("no longer than the command's own time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := newElectionTest(t)
			e.elect("a:27017", 1)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			read := e.read(ctx, t, "majority")
			requireSent(t, read, false)
			<-ctx.Done()
			requireSent(t, read, true)
		})
	})
}
