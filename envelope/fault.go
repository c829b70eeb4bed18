package envelope

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// defaultNamespace is the first segment of errCode if no other is given.
const defaultNamespace = "service"

// Fault is a refusal: an error in the server that answers with it, and the error that
// a client gets. Every field may be sent to strangers. The cause, and everything else
// that must stay on the server, is never part of it.
type Fault struct {
	Detail  string   // stable code without the namespace: "accessDenied.scope"
	Code    string   // short legacy code: "kAccessDenied"
	Status  int      // HTTP status
	Message string   // fixed text of the code
	Reason  string   // safe detail; may be empty
	Path    string   // the parameter or property that is wrong; may be empty
	Faults  []*Fault // children, if several things are wrong at once
}

// wireFault is the wire form of a Fault and its children, so that encoding/json reads
// and writes the whole tree in one pass.
type wireFault struct {
	Object  string       `json:"object"`
	Name    string       `json:"name"`
	Code    string       `json:"code"`
	ErrCode string       `json:"errCode"`
	Status  int          `json:"status"`
	Message string       `json:"message"`
	Reason  string       `json:"reason,omitempty"`
	Path    string       `json:"path,omitempty"`
	Faults  []*wireFault `json:"faults"`
}

// Error returns the status, code, path and reason of the fault, and the path and
// reason of its first children. The text is always one printable line, whatever a
// server sent.
func (f *Fault) Error() string {
	const shown = 3
	parts := []string{fmt.Sprintf("fault %d %s%s", f.Status, printable(f.Detail), f.description())}
	for _, child := range f.Faults[:min(shown, len(f.Faults))] {
		if child != nil {
			parts = append(parts, child.description())
		}
	}
	if rest := len(f.Faults) - shown; rest > 0 {
		parts = append(parts, fmt.Sprintf(" and %d more", rest))
	}
	for i := range len(parts) - 1 {
		parts[i] = strings.TrimSuffix(parts[i], ".") // a message is a sentence
	}
	return strings.Join(parts, ";")
}

func (f *Fault) description() (text string) {
	if f.Path != "" {
		text = " at " + printable(f.Path)
	}
	if note := cmp.Or(f.Reason, f.Message); note != "" {
		text += ": " + printable(note)
	}
	return text
}

// printable shortens s and escapes characters that would break or forge a line of a
// log.
func printable(s string) string {
	quoted := strconv.Quote(s[:min(len(s), 200)])
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`) // reasons quote what they refuse
}

// Encode returns the JSON body of the fault. Its errCode is Detail after namespace, a
// single segment without a dot. An empty namespace is service.
func (f *Fault) Encode(namespace string) []byte {
	body, _ := json.Marshal(f.wire(cmp.Or(namespace, defaultNamespace))) // strings and numbers always marshal
	return body
}

// MarshalJSON encodes the fault in the default namespace.
func (f *Fault) MarshalJSON() ([]byte, error) { return f.Encode(""), nil }

// UnmarshalJSON reads a fault of any namespace. If the object is not "fault", the
// error wraps ErrShape.
func (f *Fault) UnmarshalJSON(body []byte) error {
	var w wireFault
	if err := decodeAs("fault", body, &w, &w.Object); err != nil {
		return err
	}
	*f = *w.fault()
	return nil
}

func (f *Fault) wire(namespace string) *wireFault {
	w := &wireFault{
		Object: "fault", Name: "error",
		Code: f.Code, ErrCode: namespace + "." + f.Detail, Status: f.Status,
		Message: f.Message, Reason: f.Reason, Path: f.Path,
		Faults: []*wireFault{},
	}
	for _, child := range f.Faults {
		if child != nil {
			w.Faults = append(w.Faults, child.wire(namespace))
		}
	}
	return w
}

func (w *wireFault) fault() *Fault {
	f := &Fault{
		Detail: w.ErrCode, Code: w.Code, Status: w.Status,
		Message: w.Message, Reason: w.Reason, Path: w.Path,
	}
	if _, detail, ok := strings.Cut(w.ErrCode, "."); ok {
		f.Detail = detail
	}
	for _, child := range w.Faults {
		if child != nil {
			f.Faults = append(f.Faults, child.fault())
		}
	}
	return f
}
