package openapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/tenantkit/tenantkit/auth"
)

// faultComponents returns a response for each status of the faults of package auth, and each fault
// as an example. The response Fault is for whatever else a handler may answer.
func faultComponents(namespace string) object {
	responses, examples := object{"Fault": faultResponse(0, object{})}, object{}
	byStatus := make(map[int]object)
	for _, detail := range auth.Details() {
		f := (&auth.Error{Detail: detail}).Fault()
		examples[detail] = object{"summary": f.Message, "value": json.RawMessage(f.Encode(namespace))}
		if byStatus[f.Status] == nil {
			byStatus[f.Status] = object{}
			responses[faultOf(f.Status)] = faultResponse(f.Status, byStatus[f.Status])
		}
		byStatus[f.Status][detail] = ref("examples", detail)
	}
	return object{"responses": responses, "examples": examples}
}

// faultOf returns the name of the response of a status.
func faultOf(status int) string { return "Fault" + strconv.Itoa(status) }

// faultResponse describes the faults of one status, or of any for 0.
func faultResponse(status int, examples object) object {
	content, response := object{"schema": ref("schemas", "Fault")}, object{"description": "Any other refusal."}
	response["content"] = object{"application/json": content}
	if status == 0 {
		return response
	}
	content["examples"], response["description"] = examples, http.StatusText(status)+"."
	switch status {
	case http.StatusUnauthorized:
		response["headers"] = object{"WWW-Authenticate": header("string", "A challenge for each mechanism.")}
	case http.StatusMethodNotAllowed:
		response["headers"] = object{"Allow": header("string", "The methods of the path.")}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		response["headers"] = object{"Retry-After": header("integer", "Seconds to wait.")}
	}
	return response
}

func header(kind, description string) object {
	return object{"description": description, "schema": object{"type": kind}}
}

// faultSchema is section 6 of the interface.
func faultSchema() object {
	text := object{"type": "string"}
	return object{
		"type":     "object",
		"required": []string{"object", "name", "code", "errCode", "status", "message", "faults"},
		"properties": object{
			"object":  object{"const": "fault", "type": "string"},
			"name":    object{"const": "error", "type": "string"},
			"code":    object{"type": "string", "description": "A short form of errCode."},
			"errCode": object{"type": "string", "description": "Stable: branch on it."},
			"status":  object{"type": "integer"},
			"message": object{"type": "string", "description": "A fixed text."},
			"reason":  text,
			"path":    object{"type": "string", "description": "The argument or property that the fault is about."},
			"faults":  object{"type": "array", "items": ref("schemas", "Fault")},
		},
	}
}
