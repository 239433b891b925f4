package main

import (
	"reflect"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// field writes a field of m. name is the location in errors; an empty name adds nothing.
func (g *generator) field(goType reflect.Type, fd protoreflect.FieldDescriptor, name string) {
	sf, ok := structField(goType, fd)
	if !ok {
		g.fail(fd, "no Go field")
		return
	}
	expr := "m." + sf.Name
	give := func(err string) string {
		if name == "" {
			return "return dst, " + err
		}
		return "return dst, at(" + quote(name) + ", " + err + ")"
	}
	switch {
	case restjson.Options(fd).GetExtra():
		g.fail(fd, "extra keys are left to reflection")
	case fd.IsList():
		g.list(fd, expr, give)
	case fd.IsMap():
		g.entries(fd, expr, give)
	case fd.HasOptionalKeyword():
		g.line("if %s == nil {\ndst = append(dst, \"null\"...)\n} else {", expr)
		if t := sf.Type; t.Kind() == reflect.Pointer && t.Elem().Kind() != reflect.Struct {
			g.value(fd, fd, "*"+expr, give)
		} else {
			g.value(fd, fd, expr, give)
		}
		g.line("}")
	case isTime(fd):
		g.line("if %s == nil {\n%s\n}", expr, give("ErrUnset"))
		g.value(fd, fd, expr, give)
	default:
		g.value(fd, fd, expr, give)
	}
}

func isTime(fd protoreflect.FieldDescriptor) bool {
	if fd.Message() == nil {
		return false
	}
	name := fd.Message().FullName()
	return name == "google.protobuf.Timestamp" || name == "google.protobuf.Duration"
}

func (g *generator) list(fd protoreflect.FieldDescriptor, expr string, give func(string) string) {
	g.text("[")
	g.line("for i, v := range %s {\nif i > 0 {\ndst = append(dst, ',')\n}", expr)
	g.value(fd, fd, "v", func(err string) string { return give("atIndex(i, " + err + ")") })
	g.line("}")
	g.text("]")
}

func (g *generator) entries(fd protoreflect.FieldDescriptor, expr string, give func(string) string) {
	g.text("{")
	g.line("for i, k := range keysOf(%s) {\nif i > 0 {\ndst = append(dst, ',')\n}", expr)
	g.line("dst = jsontoken.AppendString(dst, k)\ndst = append(dst, ':')")
	g.value(fd, fd.MapValue(), expr+"[k]", func(err string) string { return give("at(k, " + err + ")") })
	g.line("}")
	g.text("}")
}

// value writes one value: of the field, of an item of its list or of a value of its map, whose descriptor is vd.
func (g *generator) value(fd, vd protoreflect.FieldDescriptor, expr string, give func(string) string) {
	call := func(formatting string, args ...any) {
		g.line("if dst, err = "+formatting+"; err != nil {\n"+give("err")+"\n}", args...)
	}
	format := restjson.Options(fd).GetFormat()
	switch vd.Kind() {
	case protoreflect.BoolKind:
		g.line("dst = strconv.AppendBool(dst, %s)", expr)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		g.line("dst = strconv.AppendInt(dst, int64(%s), 10)", expr)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		g.line("dst = strconv.AppendInt(dst, %s, 10)", expr)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		g.line("dst = strconv.AppendUint(dst, uint64(%s), 10)", expr)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		g.line("dst = strconv.AppendUint(dst, %s, 10)", expr)
	case protoreflect.FloatKind:
		g.line("dst = appendFloat(dst, float64(%s), 32)", expr)
	case protoreflect.DoubleKind:
		g.line("dst = AppendFloat(dst, %s)", expr)
	case protoreflect.StringKind:
		if format == orchv1.Format_FORMAT_UUID {
			call("appendUUID(dst, %s)", expr)
		} else {
			g.line("dst = jsontoken.AppendString(dst, %s)", expr)
		}
	case protoreflect.BytesKind:
		kind := "KindJSON"
		if format == orchv1.Format_FORMAT_JSON_OBJECT {
			kind = "KindObject"
		}
		g.line("dst = appendJSON(dst, %s, %s)", expr, kind)
	case protoreflect.EnumKind:
		g.enums[vd.Enum().FullName()] = vd.Enum()
		call("encode%s(dst, %s)", vd.Enum().Name(), expr)
	default:
		switch vd.Message().FullName() {
		case "google.protobuf.Timestamp":
			call("appendTimestamp(dst, %[1]s.GetSeconds(), %[1]s.GetNanos())", expr)
		case "google.protobuf.Duration":
			call("appendDuration(dst, %[1]s.GetSeconds(), %[1]s.GetNanos())", expr)
		default:
			call("%s(e, dst, %s)", g.want(vd.Message()), expr)
		}
	}
}
