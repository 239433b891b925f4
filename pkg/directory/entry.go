package directory

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Bucket is the name of the bucket.
const Bucket = "directory"

// Kind is the kind of a document. It begins the document's key in the bucket.
type Kind string

// The kinds.
const (
	Account        Kind = "account"
	Workspace      Kind = "workspace"
	User           Kind = "user"
	ServiceAccount Kind = "service_account"
	Membership     Kind = "membership"
	Access         Kind = "access"
	Role           Kind = "role"
	Team           Kind = "team"
)

// Complete is the key whose presence says that the bucket has been made equal to the store since it was made. Until then
// what it lacks means nothing: a broker that lost its data would refuse everybody.
const Complete = "complete"

// ErrUnreadable is wrapped when a value is no entry.
var ErrUnreadable = errors.New("directory: entry not readable")

// Key is the key under which a document is found.
func Key(kind Kind, id string) string { return string(kind) + "." + id }

// Encode writes an entry.
func Encode(e *orchv1.DirectoryEntry) ([]byte, error) {
	value, err := proto.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("write an entry of the directory: %w", err)
	}
	return value, nil
}

// Decode reads an entry.
func Decode(value []byte) (*orchv1.DirectoryEntry, error) {
	e := &orchv1.DirectoryEntry{}
	if err := proto.Unmarshal(value, e); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return e, nil
}
