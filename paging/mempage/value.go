package mempage

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// value is a property of a row, or what it is compared with.
type value struct {
	kind   kind
	truth  bool
	text   string
	number decimal
}

// kind is the type of a value, in the order in which a sort has them.
type kind uint8

const (
	missing kind = iota
	null
	boolean
	number
	text
	other
)

func (k kind) isNull() bool { return k <= null }

func valueOf(v any, ok bool) value {
	if !ok {
		return value{kind: missing}
	}
	switch v := v.(type) {
	case nil:
		return value{kind: null}
	case string:
		return value{kind: text, text: v}
	case json.Number:
		return numberOf(string(v))
	case time.Time:
		return value{kind: text, text: v.UTC().Format("2006-01-02T15:04:05.000Z")}
	}
	return reflected(reflect.ValueOf(v))
}

func valuesOf(all []any) []value {
	values := make([]value, len(all))
	for i, v := range all {
		values[i] = valueOf(v, true)
	}
	return values
}

func reflected(v reflect.Value) value {
	switch {
	case v.Kind() == reflect.String:
		return value{kind: text, text: v.String()}
	case v.Kind() == reflect.Bool:
		return value{kind: boolean, truth: v.Bool()}
	case v.CanInt():
		return numberOf(strconv.FormatInt(v.Int(), 10))
	case v.CanUint():
		return numberOf(strconv.FormatUint(v.Uint(), 10))
	case v.CanFloat():
		return numberOf(strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits()))
	}
	return value{kind: other}
}

func numberOf(literal string) value {
	d, ok := parseDecimal(literal)
	if !ok {
		return value{kind: other} // NaN and the infinities
	}
	return value{kind: number, number: d}
}

// equals reports whether the values are equal, as null and a missing one are.
func (v value) equals(w value) bool {
	if v.kind.isNull() {
		return w.kind.isNull()
	}
	return v.kind == w.kind && v.order(w) == 0
}

// order compares values of the same kind.
func (v value) order(w value) int {
	switch v.kind {
	case boolean:
		return cmp.Compare(bit(v.truth), bit(w.truth))
	case number:
		return v.number.compare(w.number)
	}
	return strings.Compare(v.text, w.text)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
