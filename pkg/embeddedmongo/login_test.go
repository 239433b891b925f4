package embeddedmongo_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

func TestPasswords(t *testing.T) {
	s, mem := start(t, t.TempDir(), embeddedmongo.Options{})
	required := serveWith(t, s, embeddedmongo.Access{Password: "right"})
	optional := serveWith(t, s, embeddedmongo.Access{Password: "right", Optional: true})
	const scram = "authMechanism=SCRAM-SHA-256"
	for name, test := range map[string]struct{ address, user, query, want string }{
		"right":                             {required, "orch:right@", scram, ""},
		"wrong":                             {required, "orch:wrong@", scram, "Authentication failed"},
		"unknown user":                      {required, "root:right@", scram, "Authentication failed"},
		"none":                              {required, "", "", "requires authentication"},
		"another mechanism":                 {required, "orch:right@", "authMechanism=SCRAM-SHA-1", "SCRAM-SHA-256"},
		"in plain text":                     {required, "orch:right@", "authMechanism=PLAIN", "SCRAM-SHA-256"},
		"right, where it is optional":       {optional, "orch:right@", scram, ""},
		"wrong, where it is optional":       {optional, "orch:wrong@", scram, "Authentication failed"},
		"none, where it is optional":        {optional, "", "", ""},
		"right, with the driver's defaults": {required, "orch:right@", "", "SCRAM-SHA-256"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.WithoutCancel(t.Context())
			client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + test.user + test.address + "/?directConnection=true&" + test.query))
			require.NoError(t, err)
			defer func() { require.NoError(t, client.Disconnect(ctx)) }()
			_, err = client.Database("d").Collection("c").InsertOne(ctx, M{"by": name})
			if test.want != "" {
				require.ErrorContains(t, err, test.want)
				n, err := mem.Database("d").Collection("c").CountDocuments(ctx, M{"by": name})
				require.NoError(t, err)
				require.Zero(t, n)
				return
			}
			require.NoError(t, err)
		})
	}
}

// message frames a command as an OP_MSG.
func message(t *testing.T, command any) []byte {
	t.Helper()
	body, err := bson.Marshal(command)
	require.NoError(t, err)
	b := binary.LittleEndian.AppendUint32(nil, uint32(16+5+len(body)))
	for _, n := range []uint32{1, 0, 2013, 0} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return append(append(b, 0), body...)
}

// A client that has not authenticated costs little memory: the server reads no large frame of it.
func TestBeforeAPasswordFramesAreSmall(t *testing.T) {
	s, _ := start(t, t.TempDir(), embeddedmongo.Options{})
	c, err := net.Dial("tcp", serveWith(t, s, embeddedmongo.Access{Password: "right"}))
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write(message(t, bson.D{{Key: "hello", Value: 1}, {Key: "$db", Value: "admin"}, {Key: "client", Value: make([]byte, 1<<20)}})[:1<<10])
	require.NoError(t, err)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(30*time.Second)))
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

// deadlines is a listener whose connections report the deadlines that the server sets.
type deadlines struct {
	net.Listener
	set chan time.Time
}

func (d deadlines) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	return reporting{c, d.set}, err
}

type reporting struct {
	net.Conn
	set chan time.Time
}

func (r reporting) SetDeadline(t time.Time) error {
	r.set <- t
	return r.Conn.SetDeadline(t)
}

// Drivers monitor a server by connections that never authenticate, so each message has a time limit of its own.
func TestMonitorsDoNotAuthenticate(t *testing.T) {
	s, _ := start(t, t.TempDir(), embeddedmongo.Options{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	watched := deadlines{ln, make(chan time.Time, 8)}
	c, err := net.Dial("tcp", serveOn(t, s, watched, embeddedmongo.Access{Password: "right"}))
	require.NoError(t, err)
	defer c.Close()
	last := <-watched.set
	for range 3 {
		_, err = c.Write(message(t, bson.D{{Key: "hello", Value: 1}, {Key: "$db", Value: "admin"}}))
		require.NoError(t, err)
		next := <-watched.set
		require.True(t, next.After(last))
		last = next
	}
}

// The exchange of a password fails as a whole at any malformed step, and the connection stays outside.
func TestMalformedExchanges(t *testing.T) {
	s, _ := start(t, t.TempDir(), embeddedmongo.Options{})
	address := serveWith(t, s, embeddedmongo.Access{Password: "right"})
	first := bson.D{{Key: "saslStart", Value: 1}, {Key: "mechanism", Value: "SCRAM-SHA-256"}, {Key: "payload", Value: bson.Binary{Data: []byte("n,,n=orch,r=abc")}}, {Key: "$db", Value: "admin"}}
	next := func(payload any) bson.D {
		return bson.D{{Key: "saslContinue", Value: 1}, {Key: "conversationId", Value: 1}, {Key: "payload", Value: payload}, {Key: "$db", Value: "admin"}}
	}
	for name, commands := range map[string][]bson.D{
		"no begin":          {next(bson.Binary{Data: []byte("c=biws,r=abc,p=AAAA")})},
		"no binary":         {first, next("c=biws")},
		"empty":             {first, next(bson.Binary{})},
		"made up":           {first, next(bson.Binary{Data: []byte("c=biws,r=abc,p=AAAA")})},
		"begun twice":       {first, first},
		"binary of old use": {first, next(bson.Binary{Subtype: 2, Data: []byte("c=biws")})},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", address)
			require.NoError(t, err)
			defer c.Close()
			for _, command := range append(commands, bson.D{{Key: "listDatabases", Value: 1}, {Key: "$db", Value: "admin"}}) {
				_, err = c.Write(message(t, command))
				require.NoError(t, err)
				size := make([]byte, 4)
				_, err = io.ReadFull(c, size)
				require.NoError(t, err)
				reply := make([]byte, binary.LittleEndian.Uint32(size)-4)
				_, err = io.ReadFull(c, reply)
				require.NoError(t, err)
				if command[0].Key == "listDatabases" {
					require.Equal(t, "Unauthorized", bson.Raw(reply[17:]).Lookup("codeName").StringValue())
				}
			}
		})
	}
}
