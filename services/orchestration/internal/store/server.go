package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
)

// ErrServer means that the MongoDB server is one that this program cannot work with. The message says what to do.
var ErrServer = errors.New("unsupported MongoDB server")

// lowestVersion is the oldest major version of MongoDB that has what the store uses: partial indexes with $in, the condition of
// the index of paused and cancelled runs, need 6.0. Nothing in use needs a later version.
const lowestVersion = 6

// embeddedModule is the module by which the embedded server tells itself from a standalone mongod.
const embeddedModule = "orch-embedded"

// majorityNotEnabled is the server's code for a read concern that its settings do not allow.
const majorityNotEnabled = 148

// buildInfo is the part of the reply of buildInfo that decides.
type buildInfo struct {
	Version      string   `bson:"version"`
	VersionArray []int32  `bson:"versionArray"`
	Modules      []string `bson:"modules"`
}

// hello is the part of the reply of hello that decides.
type hello struct {
	SetName      string `bson:"setName"`
	IsReplicaSet bool   `bson:"isreplicaset"` // A member of a replica set that nobody initiated.
	Writable     bool   `bson:"isWritablePrimary"`
	Msg          string `bson:"msg"` // "isdbgrid" is a mongos.
}

// checkServer refuses a server that the store cannot work with, before anything is written.
func (s *Store) checkServer(ctx context.Context) error {
	var build buildInfo
	admin := s.client.Database("admin")
	if err := admin.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build); err != nil {
		return fmt.Errorf("read the version of MongoDB: %w", outage(err))
	}
	if err := checkVersion(build); err != nil {
		return err
	}
	// Versions that know no hello are refused by then.
	var reply hello
	if err := admin.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&reply); err != nil {
		return fmt.Errorf("read the topology of MongoDB: %w", outage(err))
	}
	if err := checkTopology(build, reply); err != nil {
		return err
	}
	return s.checkMajority(ctx)
}

func checkVersion(build buildInfo) error {
	if len(build.VersionArray) == 0 || build.VersionArray[0] < lowestVersion {
		return fmt.Errorf("%w: version %s is too old: upgrade MongoDB to %d.0 or later", ErrServer, build.Version, lowestVersion)
	}
	return nil
}

// checkTopology accepts the primary of a replica set, a mongos, and the embedded server.
func checkTopology(build buildInfo, reply hello) error {
	switch {
	case slices.Contains(build.Modules, embeddedModule), reply.Msg == "isdbgrid":
		return nil
	case reply.IsReplicaSet && reply.SetName == "":
		return fmt.Errorf("%w: the replica set is not initiated: run rs.initiate() in mongosh", ErrServer)
	case reply.SetName == "":
		return fmt.Errorf("%w: a standalone server has no majority: start mongod with --replSet rs0 and run rs.initiate() in mongosh", ErrServer)
	case !reply.Writable:
		return fmt.Errorf("%w: a member of replica set %q that is not its primary: set replicaSet=%s instead of directConnection in the connection string",
			ErrServer, reply.SetName, reply.SetName)
	}
	return nil
}

// checkMajority reads what a majority has. Settings can forbid it.
func (s *Store) checkMajority(ctx context.Context) error {
	meta := s.db.Collection(metaName, options.Collection().SetReadConcern(readconcern.Majority()))
	err := meta.FindOne(ctx, bson.D{{Key: "_id", Value: "format"}}).Err()
	var refused mongo.ServerError
	switch {
	case err == nil, errors.Is(err, mongo.ErrNoDocuments):
		return nil
	case errors.As(err, &refused) && refused.HasErrorCode(majorityNotEnabled):
		return fmt.Errorf("%w: read concern majority is off: start mongod without --enableMajorityReadConcern=false", ErrServer)
	}
	return fmt.Errorf("read with read concern majority: %w", outage(err))
}
