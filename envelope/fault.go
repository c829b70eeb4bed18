package envelope

import (
	"encoding/json"
	"fmt"
	"strings"
)

// DefaultNamespace is the first segment of errCode where no other is set.
const DefaultNamespace = "service"

// Fault is a refusal: an error on the server that answers it, and the error a
// client gets back. Everything in it is fit for strangers; what must stay on
// the server is not put here.
//
// The zero Fault is error.unspecified with status 500.
type Fault struct {
	Detail  string   // stable code without the namespace: "accessDenied.scope"
	Code    string   // short legacy code: "kAccessDenied"
	Status  int      // HTTP status
	Message string   // fixed text of the code
	Reason  string   // safe detail, may be empty
	Path    string   // the parameter or property it is about, may be empty
	Faults  []*Fault // children, where several things are wrong at once
}

// wireFault is a Fault as it is spelled on the wire.
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

// Error names the fault by status and code, with its path and reason or, where
// there is no reason, its message.
func (f *Fault) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "fault %d %s", f.Status, f.Detail)
	if f.Path != "" {
		fmt.Fprintf(&text, " at %q", f.Path)
	}
	if note := f.Reason + f.Message; note != "" {
		fmt.Fprintf(&text, ": %q", note)
	}
	return text.String()
}

// Encode returns the JSON body of the fault, its code put under namespace.
func (f *Fault) Encode(namespace string) []byte {
	if namespace == "" {
		namespace = DefaultNamespace
	}
	body, err := json.Marshal(f.wire(namespace))
	if err != nil {
		panic("envelope: a fault of strings and numbers did not encode: " + err.Error())
	}
	return body
}

// MarshalJSON encodes the fault under DefaultNamespace.
func (f *Fault) MarshalJSON() ([]byte, error) { return f.Encode(""), nil }

// UnmarshalJSON reads a fault of any namespace.
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
		Object: "fault", Name: "error", Code: f.Code, ErrCode: namespace + "." + f.Detail,
		Status: f.Status, Message: f.Message, Reason: f.Reason, Path: f.Path,
		Faults: make([]*wireFault, 0, len(f.Faults)),
	}
	for _, child := range f.Faults {
		w.Faults = append(w.Faults, child.wire(namespace))
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
		f.Faults = append(f.Faults, child.fault())
	}
	return f
}
