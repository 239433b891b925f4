package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/id"
)

// scripted is a server that replies to each command with a fixed document.
type scripted struct {
	replies map[string]bson.D
	wg      sync.WaitGroup
}

var (
	primary    = bson.D{{Key: "isWritablePrimary", Value: true}, {Key: "ismaster", Value: true}, {Key: "setName", Value: "rs0"}}
	secondary  = bson.D{{Key: "isWritablePrimary", Value: false}, {Key: "secondary", Value: true}, {Key: "setName", Value: "rs0"}}
	standalone = bson.D{{Key: "isWritablePrimary", Value: true}, {Key: "ismaster", Value: true}}
	ghost      = bson.D{{Key: "isWritablePrimary", Value: false}, {Key: "isreplicaset", Value: true}}
	mongos     = bson.D{{Key: "isWritablePrimary", Value: true}, {Key: "ismaster", Value: true}, {Key: "msg", Value: "isdbgrid"}}
)

func built(text string, numbers ...int32) bson.D {
	return bson.D{{Key: "version", Value: text}, {Key: "versionArray", Value: numbers}}
}

// TestServersThatAreRefused opens stores on servers that describe themselves as MongoDB servers do.
func TestServersThatAreRefused(t *testing.T) {
	t.Parallel()
	noMajority := bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: int32(majorityNotEnabled)}, {Key: "errmsg", Value: "no majority"}}
	for name, c := range map[string]struct {
		build, hello, find bson.D
		refused            string // A part of the message; empty when the server is accepted.
	}{
		"4.4":                 {built("4.4.29", 4, 4, 29, 0), primary, nil, "version 4.4.29 is too old: upgrade MongoDB to 6.0"},
		"4.4 standalone":      {built("4.4.29", 4, 4, 29, 0), standalone, nil, "version 4.4.29 is too old"},
		"5.0":                 {built("5.0.31", 5, 0, 31, 0), primary, nil, "version 5.0.31 is too old"},
		"6.0":                 {built("6.0.19", 6, 0, 19, 0), primary, nil, ""},
		"7.0":                 {built("7.0.15", 7, 0, 15, 0), primary, nil, ""},
		"8.0":                 {built("8.0.4", 8, 0, 4, 0), primary, nil, ""},
		"a mongos":            {built("7.0.15", 7, 0, 15, 0), mongos, nil, ""},
		"a standalone":        {built("7.0.15", 7, 0, 15, 0), standalone, nil, "start mongod with --replSet"},
		"not initiated":       {built("7.0.15", 7, 0, 15, 0), ghost, nil, "run rs.initiate()"},
		"a secondary":         {built("7.0.15", 7, 0, 15, 0), secondary, nil, "replicaSet=rs0"},
		"no majority reads":   {built("7.0.15", 7, 0, 15, 0), primary, noMajority, "read concern majority is off"},
		"no version":          {bson.D{}, primary, nil, "too old"},
		"an empty collection": {built("7.0.15", 7, 0, 15, 0), primary, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := openScripted(t, c.build, c.hello, c.find)
			if c.refused == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrServer)
			require.ErrorContains(t, err, c.refused)
			require.NotContains(t, err.Error(), "\n", "one line")
		})
	}
}

// openScripted opens and closes a store on a scripted server.
func openScripted(t *testing.T, build, hello, find bson.D) error {
	t.Helper()
	s, server, err := scriptedStore(t, build, hello, map[string]bson.D{"find": find})
	if err == nil {
		require.NoError(t, s.Close(t.Context()))
	}
	server.wg.Wait()
	return err
}

// scriptedStore opens a store on a server with these replies to commands; a nil reply to find is an empty one.
func scriptedStore(t *testing.T, build, hello bson.D, replies map[string]bson.D) (*Store, *scripted, error) {
	t.Helper()
	// The driver's own greeting needs versions of the protocol that it knows.
	hello = append(append(bson.D{}, hello...),
		bson.E{Key: "minWireVersion", Value: int32(0)}, bson.E{Key: "maxWireVersion", Value: int32(21)},
		bson.E{Key: "maxBsonObjectSize", Value: int32(16 << 20)}, bson.E{Key: "maxMessageSizeBytes", Value: int32(48_000_000)},
		bson.E{Key: "maxWriteBatchSize", Value: int32(100_000)}, bson.E{Key: "ok", Value: 1.0})
	server := &scripted{replies: map[string]bson.D{
		"hello": hello, "ismaster": hello, "isMaster": hello, "buildInfo": append(append(bson.D{}, build...), bson.E{Key: "ok", Value: 1.0}),
	}}
	maps.Copy(server.replies, replies)
	if server.replies["find"] == nil {
		server.replies["find"] = bson.D{{Key: "cursor", Value: bson.D{
			{Key: "id", Value: int64(0)}, {Key: "ns", Value: "orch.meta"}, {Key: "firstBatch", Value: bson.A{}},
		}}, {Key: "ok", Value: 1.0}}
	}
	s, err := Open(t.Context(), Config{
		URI: "mongodb://scripted.invalid/?directConnection=true", Database: "orch", Dialer: server, Clock: clock.System{}, IDs: id.System(),
	})
	return s, server, err
}

// TestEmbeddedServerIsAccepted although it is not a replica set.
func TestEmbeddedServerIsAccepted(t *testing.T) {
	t.Parallel()
	server, err := embeddedmongo.Open(t.TempDir(), embeddedmongo.Options{NoSync: true})
	require.NoError(t, err)
	s, err := Open(t.Context(), Config{URI: server.URI(), Database: "orch", Dialer: server.ContextDialer(), Clock: clock.System{}, IDs: id.System()})
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	require.NoError(t, server.Close())
}

// DialContext connects to the server in memory.
func (s *scripted) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	s.wg.Go(func() { s.serve(server) })
	return client, nil
}

func (s *scripted) serve(c net.Conn) {
	defer c.Close()
	for {
		if err := s.exchange(c); err != nil {
			return // The client has disconnected.
		}
	}
}

// exchange reads one message, OP_QUERY or OP_MSG, and writes its reply.
func (s *scripted) exchange(c net.Conn) error {
	const headerLength, opReply, opQuery, opMsg = 16, 1, 2004, 2013
	header := make([]byte, headerLength)
	if _, err := io.ReadFull(c, header); err != nil {
		return err
	}
	body := make([]byte, binary.LittleEndian.Uint32(header)-headerLength)
	if _, err := io.ReadFull(c, body); err != nil {
		return err
	}
	op, request := uint32(opMsg), header[4:8]
	var command, prefix []byte
	switch binary.LittleEndian.Uint32(header[12:]) {
	case opQuery: // Flags, the collection's name, two numbers, the document.
		name := bytes.IndexByte(body[4:], 0)
		op, command = opReply, body[4+name+1+8:]
		prefix = make([]byte, 20)
		prefix[16] = 1 // One document.
	case opMsg: // Flags, the kind of the section, the document.
		command, prefix = body[5:], make([]byte, 5)
	default:
		return errors.New("unknown operation")
	}
	first, err := bson.Raw(command).IndexErr(0)
	if err != nil {
		return err
	}
	reply, exists := s.replies[first.Key()]
	if target, _ := first.Value().StringValueOK(); !exists || target == metaName && first.Key() == "update" { // The primary is confirmed.
		reply = bson.D{{Key: "ok", Value: 1.0}}
	}
	document, err := bson.Marshal(reply)
	if err != nil {
		return err
	}
	out := binary.LittleEndian.AppendUint32(nil, uint32(headerLength+len(prefix)+len(document)))
	out = append(append(out, 0, 0, 0, 0), request...)
	out = binary.LittleEndian.AppendUint32(out, op)
	_, err = c.Write(append(append(out, prefix...), document...))
	return err
}

// TestCheckTopologyDuringAStepDown: a client of a replica set that meets a secondary waits for the next primary. A client of that one
// member never meets one.
func TestCheckTopologyDuringAStepDown(t *testing.T) {
	t.Parallel()
	secondary := hello{SetName: "rs0"}
	require.ErrorIs(t, checkTopology(buildInfo{}, secondary, false), ErrUnavailable)
	require.ErrorIs(t, checkTopology(buildInfo{}, secondary, true), ErrServer)
	require.NoError(t, checkTopology(buildInfo{}, hello{SetName: "rs0", Writable: true}, false))
}
