package auth

import (
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
)

// problemType is the media type of RFC 9457.
const problemType = "application/problem+json"

// requestID returns the id of a request, as one line, or "".
func (g *Guard) requestID(r *http.Request) string {
	if g.RequestID == nil {
		return ""
	}
	return line(g.RequestID(r), maxClaimed)
}

// asProblem returns the body of a fault as a problem: the members of RFC 9457, then those of the fault.
// Both have the same status.
func asProblem(f *envelope.Fault, body []byte, page, requestID string) []byte {
	p := struct {
		Type     string `json:"type"`
		Title    string `json:"title"`
		Detail   string `json:"detail"`
		Instance string `json:"instance,omitempty"`
	}{page, f.Message, cmp.Or(f.Reason, f.Message), requestID}
	if page == "" { // such a problem has the title of its status
		p.Type, p.Title = "about:blank", http.StatusText(f.Status)
	}
	head, _ := json.Marshal(p) // strings always marshal
	head[len(head)-1] = ','
	return append(head, body[1:]...)
}

// prefersProblem reports whether a client wants a problem rather than a fault. Without a preference
// it gets the fault.
func prefersProblem(r *http.Request) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if accept == "" || len(accept) > 1024 { // a rejected request must not cost the parsing of a long list
		return false
	}
	return quality(accept, problemType) > quality(accept, "application/json")
}

// quality returns how much a client wants a media type, by the most specific range that has it
// (RFC 9110, 12.5.1).
func quality(accept, kind string) (q float64) {
	found := -1
	for part := range strings.SplitSeq(accept, ",") {
		name, parameters, err := mime.ParseMediaType(part)
		specific := slices.Index([]string{"*/*", "application/*", kind}, name)
		if err == nil && specific > found {
			found = specific
			q, _ = strconv.ParseFloat(cmp.Or(parameters["q"], "1"), 64) // 0 if it is no number
		}
	}
	return q
}
