//go:build restjson_reflective

package restjson

import "google.golang.org/protobuf/reflect/protoreflect"

// generatedEncoder knows no message in this build, so that the generator can be built when its last output cannot.
func generatedEncoder(protoreflect.FullName) generatedEncoderFunc { return nil }

// swiftDecoder knows none either.
func swiftDecoder(protoreflect.FullName) swiftDecoderFunc { return nil }
