// Package mongoerr defines the server's errors with MongoDB's codes and names.
package mongoerr

import (
	"errors"
	"fmt"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Error is a command or write error. KeyPattern and KeyValue are set on duplicate keys only.
type Error struct {
	Code       int32
	Name       string
	Message    string
	KeyPattern value.Doc
	KeyValue   value.Doc
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d): %s", e.Name, e.Code, e.Message) }

// Kind is an error's code with its name.
type Kind struct {
	Code int32
	Name string
}

// The kinds of errors that the server returns.
var (
	InternalError          = Kind{1, "InternalError"}
	BadValue               = Kind{2, "BadValue"}
	FailedToParse          = Kind{9, "FailedToParse"}
	Unauthorized           = Kind{13, "Unauthorized"}
	TypeMismatch           = Kind{14, "TypeMismatch"}
	Overflow               = Kind{15, "Overflow"}
	InvalidLength          = Kind{16, "InvalidLength"}
	AuthenticationFailed   = Kind{18, "AuthenticationFailed"}
	IllegalOperation       = Kind{20, "IllegalOperation"}
	NamespaceNotFound      = Kind{26, "NamespaceNotFound"}
	IndexNotFound          = Kind{27, "IndexNotFound"}
	PathNotViable          = Kind{28, "PathNotViable"}
	ConflictingUpdate      = Kind{40, "ConflictingUpdateOperators"}
	CursorNotFound         = Kind{43, "CursorNotFound"}
	NamespaceExists        = Kind{48, "NamespaceExists"}
	MaxTimeMSExpired       = Kind{50, "MaxTimeMSExpired"}
	DollarPrefixed         = Kind{52, "DollarPrefixedFieldName"}
	InvalidIDField         = Kind{53, "InvalidIdField"}
	EmptyFieldName         = Kind{56, "EmptyFieldName"}
	CommandNotFound        = Kind{59, "CommandNotFound"}
	ImmutableField         = Kind{66, "ImmutableField"}
	CannotCreateIndex      = Kind{67, "CannotCreateIndex"}
	InvalidOptions         = Kind{72, "InvalidOptions"}
	InvalidNamespace       = Kind{73, "InvalidNamespace"}
	IndexOptionsConflict   = Kind{85, "IndexOptionsConflict"}
	IndexKeySpecsConflict  = Kind{86, "IndexKeySpecsConflict"}
	ShutdownInProgress     = Kind{91, "ShutdownInProgress"}
	OperationFailed        = Kind{96, "OperationFailed"}
	ParallelArrays         = Kind{171, "CannotIndexParallelArrays"}
	InvalidPipelineOp      = Kind{168, "InvalidPipelineOperator"}
	InvalidIndexSpec       = Kind{197, "InvalidIndexSpecificationOption"}
	NotImplementedKind     = Kind{238, "NotImplemented"}
	SortMemory             = Kind{292, "QueryExceededMemoryLimitNoDiskUseAllowed"}
	ObjectTooLarge         = Kind{10334, "BSONObjectTooLarge"}
	Interrupted            = Kind{11601, "Interrupted"}
	ClientDisconnect       = Kind{279, "ClientDisconnect"}
	DuplicateKeyKind       = Kind{11000, "DuplicateKey"}
	OutOfDiskSpace         = Kind{14031, "OutOfDiskSpace"}
	MechanismUnavailable   = Kind{334, "MechanismUnavailable"}
	UnknownField           = Kind{40415, "Location40415"}
	DataCorruptionDetected = Kind{275, "DataCorruptionDetected"}
)

// New makes an error of a kind.
func New(k Kind, format string, args ...any) *Error {
	return &Error{Code: k.Code, Name: k.Name, Message: fmt.Sprintf(format, args...)}
}

// NotImplemented names what is outside the supported subset, for instance `aggregation stage "$lookup"`.
func NotImplemented(what string, args ...any) *Error {
	return New(NotImplementedKind, "%s is not implemented by the embedded server", fmt.Sprintf(what, args...))
}

// Is reports whether err is of the kind.
func Is(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == k.Code
}
