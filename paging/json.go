package paging

import (
	"strconv"
	"unicode/utf8"
)

// MarshalJSON returns the canonical form of the filter.
func (f Filter) MarshalJSON() ([]byte, error) { return f.appendJSON(nil), nil }

// String returns the canonical form of the filter.
func (f Filter) String() string { return string(f.appendJSON(nil)) }

func (f Filter) appendJSON(text []byte) []byte {
	switch {
	case f.constant() && f.op == OpAnd:
		return append(text, "{}"...)
	case f.constant():
		return append(text, `{"$nor":[{}]}`...)
	}
	switch f.op {
	case OpAnd:
		return appendFilters(text, "$and", f.filters)
	case OpOr:
		return appendFilters(text, "$or", f.filters)
	case OpNot:
		return f.filters[0].appendNegated(text)
	case OpEq:
		text = appendString(append(text, '{'), f.path)
		return append(f.value.appendJSON(append(text, ':')), '}')
	case OpIn:
		return appendCondition(text, f.path, "$in", f.values...)
	case OpExists:
		return appendCondition(text, f.path, "$exists", operand{kind: 't'})
	}
	return appendCondition(text, f.path, operatorNames[f.op], f.value)
}

var operatorNames = [...]string{OpGt: "$gt", OpGte: "$gte", OpLt: "$lt", OpLte: "$lte"}

// appendNegated appends the negation of f.
func (f Filter) appendNegated(text []byte) []byte {
	switch f.op {
	case OpEq:
		return appendCondition(text, f.path, "$ne", f.value)
	case OpIn:
		return appendCondition(text, f.path, "$nin", f.values...)
	case OpExists:
		return appendCondition(text, f.path, "$exists", operand{kind: 'f'})
	case OpOr:
		return appendFilters(text, "$nor", f.filters)
	}
	return appendFilters(text, "$nor", []Filter{f})
}

func appendFilters(text []byte, operator string, filters []Filter) []byte {
	text = appendString(append(text, '{'), operator)
	return append(appendArray(append(text, ':'), filters), '}')
}

// appendCondition appends {"path":{"operator":value}}. For $in and $nin the value is
// an array.
func appendCondition(text []byte, path, operator string, values ...operand) []byte {
	text = appendString(append(text, '{'), path)
	text = appendString(append(text, ":{"...), operator)
	if operator != "$in" && operator != "$nin" {
		text = values[0].appendJSON(append(text, ':'))
		return append(text, "}}"...)
	}
	return append(appendArray(append(text, ':'), values), "}}"...)
}

func appendArray[T interface{ appendJSON([]byte) []byte }](text []byte, elements []T) []byte {
	text = append(text, '[')
	for i, element := range elements {
		if i > 0 {
			text = append(text, ',')
		}
		text = element.appendJSON(text)
	}
	return append(text, ']')
}

func (o operand) appendJSON(text []byte) []byte {
	switch o.kind {
	case '"':
		return appendString(text, o.text)
	case '0':
		return append(text, o.text...)
	case 't', 'f':
		return strconv.AppendBool(text, o.kind == 't')
	}
	return append(text, "null"...)
}

// appendString appends s as a JSON string. It leaves < > & unescaped, unlike
// encoding/json, because the text becomes part of a URL, not of a page.
func appendString(text []byte, s string) []byte {
	text = append(text, '"')
	for _, r := range s { // bytes that are not UTF-8 become U+FFFD
		switch {
		case r == '"' || r == '\\':
			text = append(text, '\\', byte(r))
		case r < ' ':
			text = append(text, `\u00`...)
			text = append(text, hexDigits[r>>4], hexDigits[r&15])
		default:
			text = utf8.AppendRune(text, r)
		}
	}
	return append(text, '"')
}

const hexDigits = "0123456789abcdef"

// appendSort appends a sort as a JSON object, in the order of its keys.
func appendSort(text []byte, keys []Key) []byte {
	text = append(text, '{')
	for i, key := range keys {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendString(text, key.Path)
		if key.Desc {
			text = append(text, ":-1"...)
		} else {
			text = append(text, ":1"...)
		}
	}
	return append(text, '}')
}
