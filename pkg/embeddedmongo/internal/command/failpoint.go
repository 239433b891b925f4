package command

import (
	"slices"
	"strconv"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// failPoint makes commands fail on demand, as MongoDB's fail point failCommand does. Nil never fails one.
type failPoint struct {
	mu        sync.Mutex
	commands  []string // The commands that fail.
	skip      int64    // How many of them still succeed.
	left      int64    // How many fail after that; negative means all.
	entered   int64
	injection injection
}

// injection is what happens to one command.
type injection struct {
	err               error // The command fails with it, and is not executed.
	labels            []string
	closeConnection   bool
	writeConcernError value.Doc // The reply of the executed command has it.
}

// enter returns what happens to a command; the zero injection lets it pass.
func (f *failPoint) enter(r *request) injection {
	if f == nil {
		return injection{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 || !slices.Contains(f.commands, r.name) {
		return injection{}
	}
	if f.skip > 0 {
		f.skip--
		return injection{}
	}
	if f.left > 0 {
		f.left--
	}
	f.entered++
	return f.injection
}

// configureFailPoint executes {configureFailPoint: "failCommand", mode: …, data: …}. The mode is "off", "alwaysOn", {times: n} or
// {skip: n}. It replies with how many commands the earlier setting made fail.
func (s *Service) configureFailPoint(r *request) (*value.Builder, error) {
	if s.failPoint == nil {
		return nil, mongoerr.New(mongoerr.CommandNotFound, "no such command: 'configureFailPoint'; test commands are off")
	}
	if r.db != "admin" {
		return nil, mongoerr.New(mongoerr.Kind{Code: 13, Name: "Unauthorized"}, "configureFailPoint needs the database admin, not %s", r.db)
	}
	if r.target.T != bson.TypeString || r.target.Str() != "failCommand" {
		return nil, mongoerr.NotImplemented("fail point %s", value.Format(r.target))
	}
	next := &failPoint{}
	if err := next.setMode(r.get("mode")); err != nil {
		return nil, err
	}
	data, err := document(r.get("data"), "data")
	if err == nil {
		err = next.setData(data)
	}
	if err != nil {
		return nil, err
	}
	f := s.failPoint
	f.mu.Lock()
	defer f.mu.Unlock()
	count := f.entered
	f.commands, f.skip, f.left, f.entered, f.injection = next.commands, next.skip, next.left, 0, next.injection
	return value.NewBuilder().Add("count", value.OfInt(count)), nil
}

func (f *failPoint) setMode(mode value.Value) error {
	switch {
	case mode.T == bson.TypeString && mode.Str() == "off":
		return nil
	case mode.T == bson.TypeString && mode.Str() == "alwaysOn":
		f.left = -1
		return nil
	case mode.T == bson.TypeEmbeddedDocument && mode.Doc().Len() == 1:
		name, v := mode.Doc().First()
		n, ok := v.Int()
		switch {
		case !ok || n < 0:
		case name == "times":
			f.left = n
			return nil
		case name == "skip":
			f.skip, f.left = n, -1
			return nil
		}
	}
	return mongoerr.NotImplemented("fail point mode %s", value.Format(mode))
}

func (f *failPoint) setData(data value.Doc) error {
	for it := data.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			return nil
		}
		switch name := string(k); name {
		case "failCommands":
			if v.T != bson.TypeArray {
				return mongoerr.New(mongoerr.TypeMismatch, "failCommands must be an array")
			}
			for _, c := range v.Doc().Values() {
				f.commands = append(f.commands, c.Str())
			}
		case "errorCode":
			code, ok := v.Int()
			if !ok {
				return mongoerr.New(mongoerr.TypeMismatch, "errorCode must be an integer")
			}
			kind := mongoerr.Kind{Code: int32(code), Name: "Location" + strconv.FormatInt(code, 10)}
			f.injection.err = mongoerr.New(kind, "fail point failCommand")
		case "errorLabels":
			for _, l := range v.Doc().Values() {
				f.injection.labels = append(f.injection.labels, l.Str())
			}
		case "closeConnection":
			f.injection.closeConnection = v.Truthy()
		case "writeConcernError":
			d, err := document(v, name)
			if err != nil {
				return err
			}
			f.injection.writeConcernError = slices.Clone(d)
		default:
			return mongoerr.NotImplemented("fail point option %q", name)
		}
	}
}
