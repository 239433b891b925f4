package query

import (
	"errors"
	"fmt"
)

var (
	// ErrTooBroad means that a related filter matches too many documents to join. The caller should return 422 and ask
	// the client to narrow the related filter.
	ErrTooBroad = errors.New("the related filter matches too much to be joined")
	// ErrBroadSearch means that a search for a text would read too many documents: no index has their texts. The caller should return 422
	// and ask the client to select fewer.
	ErrBroadSearch = errors.New("the search for a text would read too many documents")
	// ErrOperand means that an operand has no stored form. The caller should return 422.
	ErrOperand = errors.New("operand not usable")
	// ErrLongText means that a search text exceeds MaxPattern. It matches ErrOperand too.
	ErrLongText = fmt.Errorf("%w: search text exceeds %d bytes", ErrOperand, MaxPattern)
	// ErrTimeLimit means that the commands of a read took longer than Resolver.Limit. It is the cause of the end of their context.
	ErrTimeLimit = errors.New("commands of a query exceeded their time limit")
	// ErrUnsupported means that a message is not a filter, or that the compiler does not support a field of it. This is
	// a bug of the server, not of the request.
	ErrUnsupported = errors.New("unsupported filter")
	// ErrRelated means that a filter refers to other collections and needs a Resolver.
	ErrRelated = errors.New("filter needs to be resolved")
	// ErrSort means that an enum value is not a sort.
	ErrSort = errors.New("unknown sort")
)
