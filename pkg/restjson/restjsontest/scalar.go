package restjsontest

import (
	"math"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/jsontoken"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// scalar draws a value of vd (a field, or the value of a map) within the bounds that the field's options give.
func (d *drawer) scalar(fd, vd protoreflect.FieldDescriptor, optional bool) protoreflect.Value {
	opts := restjson.Options(fd)
	label := string(fd.Name())
	switch vd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(d.t, label))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		low, high := limits(opts, math.MinInt32, math.MaxInt32)
		return protoreflect.ValueOfInt32(int32(rapid.Int64Range(low, high).Draw(d.t, label)))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		low, high := limits(opts, math.MinInt64, math.MaxInt64)
		return protoreflect.ValueOfInt64(rapid.Int64Range(low, high).Draw(d.t, label))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		low, high := limits(opts, 0, math.MaxUint32)
		return protoreflect.ValueOfUint32(uint32(rapid.Int64Range(low, high).Draw(d.t, label)))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		if opts.Min != nil || opts.Max != nil {
			low, high := limits(opts, 0, math.MaxInt64)
			return protoreflect.ValueOfUint64(uint64(rapid.Int64Range(low, high).Draw(d.t, label)))
		}
		return protoreflect.ValueOfUint64(rapid.Uint64().Draw(d.t, label))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(rapid.Float32().Draw(d.t, label))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(d.double(opts, label))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(d.text(opts, label))
	case protoreflect.BytesKind:
		if opts.GetFormat() == orchv1.Format_FORMAT_JSON_OBJECT {
			return protoreflect.ValueOfBytes([]byte(JSONObject().Draw(d.t, label)))
		}
		gen := JSON()
		if optional {
			gen = gen.Filter(func(s string) bool { return s != "null" }) // which is the field unset
		}
		return protoreflect.ValueOfBytes([]byte(gen.Draw(d.t, label)))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(d.enum(vd.Enum(), label))
	}
	if vd.Message().FullName() == "google.protobuf.Timestamp" {
		const first, last = -62135596800, 253402300799 // years 1 to 9999
		return protoreflect.ValueOfMessage((&timestamppb.Timestamp{
			Seconds: rapid.Int64Range(first, last).Draw(d.t, label),
			Nanos:   rapid.OneOf(rapid.Just[int32](0), rapid.Int32Range(0, 999_999)).Draw(d.t, label+" micros") * 1000,
		}).ProtoReflect())
	}
	return d.duration(opts, label)
}

// limits narrows the range of a kind to the bounds of a field.
func limits(opts *orchv1.RestField, low, high int64) (int64, int64) {
	if opts.Min != nil {
		low = max(low, int64(math.Ceil(opts.GetMin())))
		if opts.GetExclusiveMin() && float64(low) == opts.GetMin() {
			low++
		}
	}
	if opts.Max != nil {
		high = min(high, int64(math.Floor(opts.GetMax())))
	}
	return low, high
}

func (d *drawer) double(opts *orchv1.RestField, label string) float64 {
	gen := rapid.Float64()
	switch {
	case opts.Min != nil && opts.Max != nil:
		gen = rapid.Float64Range(opts.GetMin(), opts.GetMax())
	case opts.Min != nil:
		gen = rapid.Float64Min(opts.GetMin())
	case opts.Max != nil:
		gen = rapid.Float64Max(opts.GetMax())
	}
	return gen.Filter(func(x float64) bool {
		return !math.IsInf(x, 0) && !math.IsNaN(x) && !(opts.GetExclusiveMin() && x == opts.GetMin())
	}).Draw(d.t, label)
}

func (d *drawer) text(opts *orchv1.RestField, label string) string {
	if opts.GetFormat() == orchv1.Format_FORMAT_UUID {
		return UUID().Draw(d.t, label)
	}
	least, most := int(opts.GetMinLength()), int(opts.GetMaxLength())
	if opts.GetPattern() != "" {
		return rapid.StringMatching(opts.GetPattern()).Filter(func(s string) bool {
			n := utf8.RuneCountInString(s)
			return n >= least && (most == 0 || n <= most)
		}).Draw(d.t, label)
	}
	if most == 0 {
		most = least + 12
	}
	return rapid.StringN(least, min(most, least+40), -1).Draw(d.t, label)
}

func (d *drawer) enum(ed protoreflect.EnumDescriptor, label string) protoreflect.EnumNumber {
	var numbers []protoreflect.EnumNumber
	for i := range ed.Values().Len() {
		n := ed.Values().Get(i).Number()
		if _, ok := restjson.EnumWord(ed, n); ok {
			numbers = append(numbers, n)
		}
	}
	return rapid.SampledFrom(numbers).Draw(d.t, label)
}

// duration draws whole microseconds in the range that seconds in a float64 represent exactly.
func (d *drawer) duration(opts *orchv1.RestField, label string) protoreflect.Value {
	const most = 1_000_000_000 // seconds
	low, high := limits(opts, -most, most)
	micros := rapid.Int64Range(low*1_000_000, high*1_000_000).Draw(d.t, label)
	return protoreflect.ValueOfMessage((&durationpb.Duration{
		Seconds: micros / 1_000_000,
		Nanos:   int32(micros%1_000_000) * 1000,
	}).ProtoReflect())
}

// UUID generates UUIDs in lower case with hyphens.
func UUID() *rapid.Generator[string] {
	return rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
}

// JSON generates JSON values without whitespace.
func JSON() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string { return drawJSON(t, 3) })
}

// JSONObject generates JSON objects without whitespace.
func JSONObject() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string { return drawObject(t, 3) })
}

func drawJSON(t *rapid.T, depth int) string {
	kinds := 3
	if depth > 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "json") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "literal")
	case 1:
		return rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,5})?([eE][-+]?[0-9]{1,3})?`).Draw(t, "number")
	case 2:
		return drawString(t)
	case 3:
		items := make([]string, rapid.IntRange(0, 3).Draw(t, "items"))
		for i := range items {
			items[i] = drawJSON(t, depth-1)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return drawObject(t, depth-1)
}

func drawObject(t *rapid.T, depth int) string {
	members := make([]string, rapid.IntRange(0, 3).Draw(t, "members"))
	for i := range members {
		members[i] = drawString(t) + ":" + drawJSON(t, depth)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// drawString draws strings with optional escapes, because free JSON keeps them.
func drawString(t *rapid.T) string {
	if rapid.Bool().Draw(t, "plain") {
		return string(jsontoken.AppendString(nil, rapid.StringN(0, 6, -1).Draw(t, "string")))
	}
	return rapid.SampledFrom([]string{`"\u00e9"`, `"\ud83d\ude00"`, `"\/"`, `"\\\" "`, `" { [ : , "`, `""`}).Draw(t, "escape")
}
