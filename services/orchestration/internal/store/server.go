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

// ErrServer means that this program cannot work with a MongoDB server. The message names the remedy.
var ErrServer = errors.New("unsupported MongoDB server")

// lowestVersion is the oldest major version of MongoDB with all features of the store. The index of paused and
// cancelled runs is a partial index with $in, which needs 6.0. Nothing in use needs a later version.
const lowestVersion = 6

// embeddedModule is the module by which the embedded server differs from a standalone mongod.
const embeddedModule = "orch-embedded"

// majorityNotEnabled is the server's error code for a read concern that its settings forbid.
const majorityNotEnabled = 148

// buildInfo is the relevant part of the reply of buildInfo.
type buildInfo struct {
	Version      string   `bson:"version"`
	VersionArray []int32  `bson:"versionArray"`
	Modules      []string `bson:"modules"`
}

// hello is the relevant part of the reply of hello.
type hello struct {
	SetName      string `bson:"setName"`
	IsReplicaSet bool   `bson:"isreplicaset"` // A member of a replica set that is not initiated.
	Writable     bool   `bson:"isWritablePrimary"`
	Msg          string `bson:"msg"`
}

// mongosMessage is the message of a mongos.
const mongosMessage = "isdbgrid"

// checkServer refuses a server that the store cannot work with, before any write.
func (s *Store) checkServer(ctx context.Context) error {
	var build buildInfo
	admin := s.client.Database("admin")
	if err := admin.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build); err != nil {
		return fmt.Errorf("read MongoDB version: %w", outage(err))
	}
	if err := checkVersion(build); err != nil {
		return err
	}
	// Versions without hello were refused above.
	var reply hello
	if err := admin.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&reply); err != nil {
		return fmt.Errorf("read MongoDB topology: %w", outage(err))
	}
	if err := checkTopology(build, reply, s.toOneMember); err != nil {
		return err
	}
	s.sharded = reply.Msg == mongosMessage
	return s.checkMajority(ctx)
}

func checkVersion(build buildInfo) error {
	if len(build.VersionArray) == 0 || build.VersionArray[0] < lowestVersion {
		return fmt.Errorf("%w: version %s is too old: upgrade MongoDB to %d.0 or later", ErrServer, build.Version, lowestVersion)
	}
	return nil
}

// checkTopology accepts the primary of a replica set, a mongos, and the embedded server. A client of the whole set that met another
// member did so while the primary stepped down; a client of one member always does.
func checkTopology(build buildInfo, reply hello, toOneMember bool) error {
	switch {
	case slices.Contains(build.Modules, embeddedModule), reply.Msg == mongosMessage:
		return nil
	case reply.IsReplicaSet && reply.SetName == "":
		return fmt.Errorf("%w: the replica set is not initiated: run rs.initiate() in mongosh", ErrServer)
	case reply.SetName == "":
		return fmt.Errorf("%w: a standalone server has no majority: start mongod with --replSet rs0 and run rs.initiate() in mongosh", ErrServer)
	case !reply.Writable && !toOneMember:
		return fmt.Errorf("%w: replica set %q elects a primary", ErrUnavailable, reply.SetName)
	case !reply.Writable:
		return fmt.Errorf("%w: a member of replica set %q that is not its primary: set replicaSet=%s instead of directConnection in the connection string",
			ErrServer, reply.SetName, reply.SetName)
	}
	return nil
}

// checkMajority reads with read concern majority, which settings can forbid.
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
