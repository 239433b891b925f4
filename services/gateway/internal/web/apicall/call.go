package apicall

import (
	"fmt"
	"net/url"
	"time"

	"google.golang.org/protobuf/proto"
)

// JSON is a JSON object.
type JSON = map[string]any

// Input is the input of a call as REST has it.
type Input struct {
	// Path holds the path variables by name.
	Path map[string]string
	// Query holds the query parameters.
	Query url.Values
	// Body is encoded as JSON; nil sends no body.
	Body any
}

// ID is the input of an operation whose path has the variable id.
func ID(id string) Input { return Input{Path: map[string]string{"id": id}} }

// Call is one rpc with its input. Client.Call makes it.
type Call interface {
	method() string
	input() Input
	// sharing reports whether readers share the result, and for how long at least.
	sharing() (shared bool, least time.Duration)
	complete(response proto.Message, err error)
	// Err returns the error of the call.
	Err() error
}

// Unary is a call whose response is a message of type M.
type Unary[M proto.Message] struct {
	rpc    string
	in     Input
	shared bool
	least  time.Duration
	result M
	err    error
}

// New returns a call. The rpc is a full method name, such as orchv1.FlowService_ReadFlow_FullMethodName.
func New[M proto.Message](rpc string, in Input) *Unary[M] {
	return &Unary[M]{rpc: rpc, in: in}
}

// NewShared returns a call whose result is shared among the readers of a workspace and may be some seconds old, such as that of a
// chart. The caller must not change the result.
func NewShared[M proto.Message](rpc string, in Input) *Unary[M] {
	return &Unary[M]{rpc: rpc, in: in, shared: true}
}

// NewSharedFor is NewShared for a result that is shared for a time at least, however fast the call was.
func NewSharedFor[M proto.Message](least time.Duration, rpc string, in Input) *Unary[M] {
	return &Unary[M]{rpc: rpc, in: in, shared: true, least: least}
}

// Result returns the response. After an error it is nil, whose getters return zero values.
func (c *Unary[M]) Result() M { return c.result }

// Err implements Call.
func (c *Unary[M]) Err() error { return c.err }

func (c *Unary[M]) method() string { return c.rpc }
func (c *Unary[M]) input() Input   { return c.in }

func (c *Unary[M]) sharing() (shared bool, least time.Duration) { return c.shared, c.least }

func (c *Unary[M]) complete(response proto.Message, err error) {
	if err != nil {
		c.err = err
		return
	}
	result, ok := response.(M)
	if !ok {
		c.err = fmt.Errorf("call %s: unexpected response %T", c.rpc, response)
		return
	}
	c.result = result
}
