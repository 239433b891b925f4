package directory

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Bucket is the name of the bucket.
const Bucket = "directory"

// Kind is the kind of a document, and the first part of the document's key in the bucket.
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

// Complete is the key that exists once the bucket was made equal to the store. Without it, a missing entry proves
// nothing: after a data loss of the broker every caller would be refused.
const Complete = "complete"

// ErrUnreadable is wrapped when a value is not an entry.
var ErrUnreadable = errors.New("directory: entry not readable")

// Key returns the bucket key of a document.
func Key(kind Kind, id string) string { return string(kind) + "." + id }

// Encode encodes an entry.
func Encode(e *orchv1.DirectoryEntry) ([]byte, error) {
	value, err := proto.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode directory entry: %w", err)
	}
	return value, nil
}

// Decode decodes an entry.
func Decode(value []byte) (*orchv1.DirectoryEntry, error) {
	e := &orchv1.DirectoryEntry{}
	if err := proto.Unmarshal(value, e); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return e, nil
}
