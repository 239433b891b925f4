package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest/mongod"
)

const (
	replicaSetName = "rs0"
	mongodPort     = "27017"
	// electionTimeout is how long members miss the primary before they elect another one. MongoDB's default is 10 s.
	electionTimeout = 3 * time.Second
	// memberTimeout bounds a command to one member. After a separation a member's connections may hang, while the others respond. The
	// driver lets a deadline of the context replace the timeout of a client.
	memberTimeout = 5 * time.Second
)

// replicaSetHosts run the members of a replica set.
var replicaSetHosts = []string{"m1", "m2", "m3"}

// ReplicaSet is a MongoDB replica set of three members, each on a host of its own.
type ReplicaSet struct {
	// Mongod is the path of the server's program.
	Mongod string

	cluster *Cluster
	clients map[string]*mongo.Client // By member.
}

// Hosts implements [ClusterStore].
func (*ReplicaSet) Hosts() []string { return replicaSetHosts }

// Start implements [ClusterStore].
func (s *ReplicaSet) Start(t testing.TB, c *Cluster, _ Programs, dir string) string {
	t.Helper()
	s.cluster, s.clients = c, map[string]*mongo.Client{}
	var members bson.A
	for i, name := range replicaSetHosts {
		data := filepath.Join(dir, name)
		if err := os.MkdirAll(data, 0o750); err != nil {
			t.Fatal(err)
		}
		host := c.Network.Host(name)
		c.Processes[name] = host.Start(t, nil, s.Mongod, mongod.Arguments(data, "127.0.0.1,"+host.IP, mongodPort, replicaSetName)...)
		s.connect(t, name)
		members = append(members, bson.D{{Key: "_id", Value: i}, {Key: "host", Value: s.address(name)}})
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	first := s.clients[replicaSetHosts[0]]
	initiate := bson.D{{Key: "replSetInitiate", Value: bson.D{
		{Key: "_id", Value: replicaSetName},
		{Key: "members", Value: members},
		{Key: "settings", Value: bson.D{{Key: "electionTimeoutMillis", Value: electionTimeout.Milliseconds()}}},
	}}}
	for {
		err := first.Database("admin").RunCommand(ctx, initiate).Err()
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("initiate the replica set: %v", err)
		}
		pause(ctx)
	}
	s.Primary(t)
	var hosts []string
	for _, name := range replicaSetHosts {
		hosts = append(hosts, s.address(name))
	}
	return "mongodb://" + strings.Join(hosts, ",") + "/?replicaSet=" + replicaSetName
}

func (s *ReplicaSet) address(member string) string {
	return s.cluster.Network.Host(member).IP + ":" + mongodPort
}

// connect opens a client of one member, whatever its role.
func (s *ReplicaSet) connect(t testing.TB, name string) {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + s.address(name) + "/?directConnection=true").
		SetServerSelectionTimeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	s.clients[name] = client
}

// Primary waits for a primary that a majority follows and returns its host.
func (s *ReplicaSet) Primary(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	for ctx.Err() == nil {
		for _, name := range replicaSetHosts {
			// A primary that lost its majority still says that it is one for a moment; a majority write tells.
			if s.claims(ctx, s.clients[name]) && s.confirm(ctx, s.clients[name]) == nil {
				return name
			}
		}
		pause(ctx)
	}
	t.Fatal("the replica set has no primary")
	return ""
}

// claims reports whether a member says that it is the primary.
func (s *ReplicaSet) claims(ctx context.Context, client *mongo.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	var hello struct {
		Primary bool `bson:"isWritablePrimary"`
	}
	return client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello) == nil && hello.Primary
}

// confirm writes to a majority.
func (s *ReplicaSet) confirm(ctx context.Context, client *mongo.Client) error {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	collection := client.Database("e2e", options.Database().SetWriteConcern(writeconcern.Majority())).Collection("primary")
	if _, err := collection.InsertOne(ctx, bson.D{}); err != nil {
		return fmt.Errorf("write to a majority: %w", err)
	}
	return nil
}

// Secondaries returns the hosts of the members other than the primary.
func (s *ReplicaSet) Secondaries(primary string) []string {
	var others []string
	for _, name := range replicaSetHosts {
		if name != primary {
			others = append(others, name)
		}
	}
	return others
}

// StepDown makes the primary a secondary for 20 s, so that another member becomes primary.
func (s *ReplicaSet) StepDown(t testing.TB) {
	t.Helper()
	client := s.clients[s.Primary(t)]
	command := bson.D{{Key: "replSetStepDown", Value: 20}, {Key: "secondaryCatchUpPeriodSecs", Value: 10}}
	if err := client.Database("admin").RunCommand(t.Context(), command).Err(); err != nil && !mongo.IsNetworkError(err) {
		t.Fatalf("step down: %v", err)
	}
}

// RollBack separates the primary from the other members, but not from its clients, until the others have elected another one. Writes of the old primary meanwhile are rolled back when the members meet again. RollBack proves that with a write of its own.
func (s *ReplicaSet) RollBack(t testing.TB) {
	t.Helper()
	old := s.Primary(t)
	host := s.cluster.Network.Host(old)
	mark := bson.D{{Key: "_id", Value: fmt.Sprintf("rolled back at %d", time.Now().UnixNano())}}
	others := s.Secondaries(old)
	for _, name := range others {
		host.Deafen(t, s.cluster.Network.Host(name))
	}
	unconfirmed := s.clients[old].Database("e2e", options.Database().SetWriteConcern(writeconcern.W1())).Collection("rollback")
	if _, err := unconfirmed.InsertOne(t.Context(), mark); err != nil {
		t.Fatalf("write to the separated primary: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	s.waitForPrimaryAmong(ctx, t, others)
	for _, name := range others {
		host.Hear(t, s.cluster.Network.Host(name))
	}
	for ctx.Err() == nil {
		if s.lacks(ctx, s.clients[old], mark) {
			return
		}
		pause(ctx)
	}
	t.Fatal("the separated primary did not roll its write back")
}

// lacks reports whether a member has no such mark.
func (s *ReplicaSet) lacks(ctx context.Context, client *mongo.Client, mark bson.D) bool {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	return errors.Is(client.Database("e2e").Collection("rollback").FindOne(ctx, mark).Err(), mongo.ErrNoDocuments)
}

// waitForPrimaryAmong waits until one of the members is a primary that a majority follows.
func (s *ReplicaSet) waitForPrimaryAmong(ctx context.Context, t testing.TB, members []string) {
	t.Helper()
	var err error
	for ctx.Err() == nil {
		for _, name := range members {
			if err = s.confirm(ctx, s.clients[name]); err == nil {
				return
			}
		}
		pause(ctx)
	}
	t.Fatalf("the other members elected no primary: %v", err)
}
