//go:build restjson_reflective

package restjson

import "google.golang.org/protobuf/reflect/protoreflect"

// generatedEncoder returns nil in this build. It exists to compile the generator when its last output does not compile.
func generatedEncoder(protoreflect.FullName) generatedEncoderFunc { return nil }

// generatedDecoder returns nil in this build.
func generatedDecoder(protoreflect.FullName) fastDecoderFunc { return nil }
