package openapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/internal/faults"
)

// The statuses that operations describe by themselves, those of operations that change something, and
// those of an Idempotency-Key. Other faults are in the default response.
var (
	ownStatuses    = []int{400, 401, 403, 404, 429, 500, 503}
	changeStatuses = []int{409, 413, 415}
	keyStatuses    = []int{422}
)

// faultComponents returns a response for each of these statuses, and each fault of package auth as
// an example. Some linters warn of a response that no operation has.
func faultComponents(namespace string, keyed bool) object {
	byStatus, responses, examples := map[int]object{0: {}}, object{}, object{}
	statuses := slices.Concat(ownStatuses, changeStatuses)
	if keyed {
		statuses = append(statuses, keyStatuses...)
	}
	for _, status := range statuses {
		byStatus[status] = object{}
	}
	for _, detail := range faults.Details() {
		f := faults.Of(detail)
		examples[detail] = object{"summary": f.Message, "value": json.RawMessage(f.Encode(namespace))}
		if own := byStatus[f.Status]; own != nil {
			own[detail] = ref("examples", detail)
		} else {
			byStatus[0][detail] = ref("examples", detail)
		}
	}
	for status, examples := range byStatus {
		responses["Fault"+strings.TrimPrefix(strconv.Itoa(status), "0")] = faultResponse(status, examples)
	}
	return object{"responses": responses, "examples": examples}
}

// faultResponse describes the faults of a status, or those of the default response for 0.
func faultResponse(status int, examples object) object {
	text := cmp.Or(http.StatusText(status), "Any other refusal") + "."
	content := object{"schema": ref("schemas", "Fault"), "examples": examples}
	media := object{"application/json": content}
	if status == 0 {
		// Only here: generators of clients type a response by its media type if it has one, and compare
		// the whole header, charset included, if it has two.
		media["application/problem+json"] = object{"schema": ref("schemas", "Problem")}
		text += " Each fault, of every status, is a problem (RFC 9457) for clients whose Accept prefers application/problem+json."
	}
	response := object{"description": text, "content": media}
	switch status {
	case http.StatusUnauthorized:
		response["headers"] = object{"WWW-Authenticate": header("string", "A challenge for each mechanism.")}
	case http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		response["headers"] = object{"Retry-After": header("integer", "Seconds to wait.")}
	}
	return response
}

func header(kind, description string) object {
	return object{"description": description, "schema": object{"type": kind}}
}

// faultSchema is section 6 of the interface.
func faultSchema() object {
	return membersOf(object{
		"object":  constant("fault"),
		"name":    constant("error"),
		"code":    object{"type": "string", "description": "A short form of errCode."},
		"errCode": object{"type": "string", "description": "Stable: branch on it."},
		"status":  object{"type": "integer"},
		"message": object{"type": "string", "description": "A fixed text."},
		"reason":  object{"type": "string"},
		"path":    object{"type": "string", "description": "The argument or property that the fault is about."},
		"faults":  object{"type": "array", "items": ref("schemas", "Fault")},
	}, []string{"object", "name", "code", "errCode", "status", "message", "faults"})
}

// problemSchema is a fault with the members of RFC 9457.
func problemSchema() object {
	return object{"allOf": []object{ref("schemas", "Fault"), membersOf(object{
		"type":     object{"type": "string", "format": "uri-reference", "description": "The page about errCode, or about:blank."},
		"title":    object{"type": "string"},
		"detail":   object{"type": "string", "description": "The reason, or else the message."},
		"instance": object{"type": "string", "description": "The id of the request, if the server has one."},
	}, []string{"type", "title", "detail"})}}
}
