package restjson

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// generatedEncoders has the encoders of hot messages by full name. They answer false for a message of another Go type.
var generatedEncoders = map[protoreflect.FullName]func(encoder, []byte, proto.Message) ([]byte, bool, error){}
