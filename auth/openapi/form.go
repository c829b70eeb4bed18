package openapi

import (
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
)

// formSchema describes the body that a form reads.
func formSchema(f envelope.Form) object {
	if len(f) == 1 && f[0].Path == "" {
		return kindSchema(f[0].Kind)
	}
	return membersSchema(f, "")
}

// membersSchema describes the members whose paths begin with at. A form refuses all others.
func membersSchema(f envelope.Form, at string) object {
	properties, required := object{}, []string{}
	for _, field := range f {
		path, below := strings.CutPrefix(field.Path, at)
		name, _, _ := strings.Cut(path, ".")
		if _, done := properties[name]; done || !below {
			continue
		}
		var own envelope.Field // what the form says of the member itself
		if i := slices.IndexFunc(f, func(o envelope.Field) bool { return o.Path == at+name }); i >= 0 {
			own = f[i]
		}
		var schema object
		if own.Kind == nil {
			schema = membersSchema(f, at+name+".")
		} else if schema = kindSchema(own.Kind); schema == nil {
			continue // no value is accepted
		}
		if own.Null {
			schema = nullable(schema)
		}
		properties[name] = schema
		if own.Required {
			required = append(required, name)
		}
	}
	schema := membersOf(properties, required)
	schema["additionalProperties"] = false
	return schema
}

// samples are values of each JSON type. A Kind is a function, so that it can only be asked.
var samples = []struct {
	text   string
	schema object
}{
	{`"a"`, object{"type": "string"}},
	{`"2026-01-02T04:04:05+01:00"`, object{"type": "string", "format": "date-time"}},
	{`"2026-01-02T03:04:05.000Z"`, object{"type": "string", "pattern": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`}}, // not what clients write for a date-time
	{`1.5`, object{"type": "number", "format": "double"}},
	{`1`, object{"type": "integer", "format": "int64"}},
	{`true`, object{"type": "boolean"}},
	{`["a"]`, object{"type": "array", "items": object{"type": "string"}}},
	{`[]`, object{"type": "array", "items": object{}}},
	{`{}`, object{"type": "object"}},
}

// kindSchema returns a schema of the samples that a Kind accepts, or nil if it accepts none. It
// may be narrower than the Kind, such as one that accepts certain words.
func kindSchema(k envelope.Kind) object {
	var accepted []object
	types := make(map[any]bool)
	for _, sample := range samples {
		_, refused := k(sample.text)
		// The first sample of a type is the widest. An integer is a number, too.
		kind := sample.schema["type"]
		if refused != "" || types[kind] || kind == "integer" && types["number"] {
			continue
		}
		types[kind] = true
		accepted = append(accepted, sample.schema)
	}
	switch len(accepted) {
	case 0:
		return nil
	case 1:
		return accepted[0]
	}
	return object{"anyOf": accepted}
}
