package openapi

import (
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/envelope/body"
)

// formSchema describes the body that a form reads.
func formSchema(f body.Form) object {
	if len(f) == 1 && f[0].Path == "" {
		return f[0].Kind.Schema
	}
	return membersSchema(f, "")
}

// membersSchema describes the members whose paths begin with at. A form refuses all others.
func membersSchema(f body.Form, at string) object {
	properties, required := object{}, []string{}
	for _, field := range f {
		path, below := strings.CutPrefix(field.Path, at)
		name, _, _ := strings.Cut(path, ".")
		if _, done := properties[name]; done || !below {
			continue
		}
		var own body.Field // what the form says of the member itself
		if i := slices.IndexFunc(f, func(o body.Field) bool { return o.Path == at+name }); i >= 0 {
			own = f[i]
		}
		schema := own.Kind.Schema
		if own.Kind.Read == nil {
			schema = membersSchema(f, at+name+".")
		}
		if schema == nil {
			continue // the Kind has none
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
