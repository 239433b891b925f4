package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
)

// ErrJSON is wrapped by the errors of FromJSON.
var ErrJSON = errors.New("not a JSON value")

// maxJSONDepth is how deep JSON may nest.
const maxJSONDepth = 800

// FromJSON decodes one JSON value. The order of keys is kept, of equal keys the last wins, and ints are
// exact whatever their size; a number with a fraction or an exponent is a float.
func FromJSON(data []byte) (Value, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := decodeJSON(dec, 0)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("%w: %w", ErrJSON, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: data after the value", ErrJSON)
	}
	return v, nil
}

// DecodeVars decodes a JSON object into the variables of a template.
func DecodeVars(data []byte) (Vars, error) {
	v, err := FromJSON(data)
	if err != nil {
		return nil, err
	}
	d, ok := v.(*dictValue)
	if !ok {
		return nil, fmt.Errorf("%w: the context must be an object", ErrJSON)
	}
	vars := make(Vars, len(d.keys))
	for i, k := range d.keys {
		name, _ := asText(k)
		vars[name] = d.vals[i]
	}
	return vars, nil
}

func decodeJSON(dec *json.Decoder, depth int) (Value, error) {
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxJSONDepth)
	}
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case nil:
		return None, nil
	case bool:
		return Bool(t), nil
	case string:
		return strValue(t), nil
	case json.Number:
		return jsonNumber(string(t))
	case json.Delim:
		if t == '{' {
			return decodeObject(dec, depth)
		}
		return decodeArray(dec, depth)
	}
	return nil, fmt.Errorf("unexpected token %v", t)
}

func decodeObject(dec *json.Decoder, depth int) (Value, error) {
	d := newDict(0)
	for dec.More() {
		k, err := dec.Token()
		if err != nil {
			return nil, err
		}
		v, err := decodeJSON(dec, depth+1)
		if err != nil {
			return nil, err
		}
		d.setStr(k.(string), v)
	}
	_, err := dec.Token()
	return d, err
}

func decodeArray(dec *json.Decoder, depth int) (Value, error) {
	var items []Value
	for dec.More() {
		v, err := decodeJSON(dec, depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	_, err := dec.Token()
	return &listValue{items}, err
}

func jsonNumber(s string) (Value, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, err
		}
		return floatValue(f), nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return intValue(n), nil
	}
	if len(s) > 1<<17 {
		return nil, fmt.Errorf("a number of %d digits", len(s))
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, fmt.Errorf("bad number")
	}
	return normBig(n), nil
}

// ToJSON encodes a value as compact JSON in the order of its keys, for a host that wants data out of a template.
// It is not escaped for HTML. Keys that are not str are written as JSON writes them in Python.
func ToJSON(v Value) ([]byte, error) {
	e := &jsonEncoder{item: ",", key: ":", plain: true}
	if err := e.value(v, 0); err != nil {
		return nil, err
	}
	return e.b, nil
}
