package ask

import (
	"fmt"
	"net/url"

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

// Question is a call that Ask makes.
type Question interface {
	method() string
	input() Input
	mayShare() bool
	settle(response proto.Message, err error)
	// Err returns why there is no answer.
	Err() error
}

// Query is a question that a message of type M answers.
type Query[M proto.Message] struct {
	rpc    string
	in     Input
	shared bool
	answer M
	err    error
}

// New returns a question. The rpc is a full method name, such as orchv1.FlowService_ReadFlow_FullMethodName.
func New[M proto.Message](rpc string, in Input) *Query[M] {
	return &Query[M]{rpc: rpc, in: in}
}

// NewShared returns a question whose answer readers of a workspace share, and which may be some seconds old: that of a chart. The
// caller must not change the answer.
func NewShared[M proto.Message](rpc string, in Input) *Query[M] {
	return &Query[M]{rpc: rpc, in: in, shared: true}
}

// Answer returns the response. Without one it is nil, whose getters return zero values.
func (q *Query[M]) Answer() M { return q.answer }

// Err implements Question.
func (q *Query[M]) Err() error { return q.err }

func (q *Query[M]) method() string { return q.rpc }
func (q *Query[M]) input() Input   { return q.in }
func (q *Query[M]) mayShare() bool { return q.shared }

func (q *Query[M]) settle(response proto.Message, err error) {
	if err != nil {
		q.err = err
		return
	}
	answer, ok := response.(M)
	if !ok {
		q.err = fmt.Errorf("call %s: unexpected response %T", q.rpc, response)
		return
	}
	q.answer = answer
}
