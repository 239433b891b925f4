package query

import "errors"

var (
	// ErrTooBroad means that a related filter matches more than can be joined. The caller should answer 422 and say so:
	// narrow the related filter.
	ErrTooBroad = errors.New("the related filter matches too much to be joined")
	// ErrOperand means that an operand has no stored form, or is too long. The caller should answer 422.
	ErrOperand = errors.New("operand not usable")
	// ErrUnsupported means that a message is no filter, or that a filter has a field that the compiler has no meaning
	// for: a bug, not of the request.
	ErrUnsupported = errors.New("unsupported filter")
	// ErrRelated means that a filter speaks of other collections, and so has no meaning without a Resolver.
	ErrRelated = errors.New("filter needs to be resolved")
	// ErrSort means that a value is no sort.
	ErrSort = errors.New("unknown sort")
)
