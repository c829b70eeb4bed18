package envelope

import (
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strings"
)

// BodyError is why the body of a request was refused. auth.Fail answers with its
// Fault. It is not a *Fault itself: a *Fault may have come from another server,
// and must not reach this server's clients.
type BodyError struct {
	fault *Fault
	cause error
}

// Error gives what the fault says, and the cause.
func (e *BodyError) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("envelope: %v: %v", e.fault, e.cause)
	}
	return "envelope: " + e.fault.Error()
}

// Unwrap returns the error of reading the body, if there was one.
func (e *BodyError) Unwrap() error { return e.cause }

// Fault returns the reply, one of
//
//   - 415 unsupportedMediaType.unspecified, for a body that is not JSON in UTF-8;
//   - 413 tooLarge.unspecified;
//   - 400 invalidArgument.body, with a child for each thing that is wrong, or with
//     a reason where the body as a whole is.
func (e *BodyError) Fault() *Fault { return e.fault }

func wrongType(reason string) error {
	return &BodyError{fault: &Fault{
		Detail: "unsupportedMediaType.unspecified", Code: "kInvalidArgument",
		Status: http.StatusUnsupportedMediaType, Message: "The body must be JSON.", Reason: reason,
	}}
}

func tooLarge(cause error) error {
	return &BodyError{cause: cause, fault: &Fault{
		Detail: "tooLarge.unspecified", Code: "kRequestTooLarge",
		Status: http.StatusRequestEntityTooLarge, Message: "The body is too large.",
	}}
}

func wrongBody(reason string) *BodyError {
	return &BodyError{fault: invalidBody("", reason)}
}

func invalidBody(path, reason string) *Fault {
	return &Fault{
		Detail: "invalidArgument.body", Code: "kInvalidArgument",
		Status: http.StatusBadRequest, Message: "The body is not valid.", Path: shown(path), Reason: reason,
	}
}

// Bounds of the reply to a body that is refused. A name in the body may be as long
// as the body.
const (
	maxFaults = 32  // children
	maxShown  = 100 // bytes of the path in each
)

func shown(path string) string {
	if len(path) <= maxShown {
		return path
	}
	return strings.ToValidUTF8(path[:maxShown], "") + "…"
}

// bodyText reads the body of r, which must say that it is JSON in UTF-8.
func bodyText(r *http.Request, limit int64) (string, error) {
	if err := checkHeader(r.Header); err != nil {
		return "", err
	}
	if r.ContentLength > limit {
		return "", tooLarge(nil) // before anything is read
	}
	var text strings.Builder
	var seen parts
	// In small steps, so that little is read after the last part that is allowed.
	_, err := io.CopyBuffer(io.MultiWriter(&text, &seen), io.LimitReader(r.Body, min(limit, math.MaxInt64-1)+1), make([]byte, 1<<10))
	switch {
	case errors.Is(err, errParts):
		return "", wrongBody(fmt.Sprintf("more than %d members", maxParts))
	case errors.As(err, new(*http.MaxBytesError)):
		return "", tooLarge(err)
	case err != nil:
		refused := wrongBody("ends early")
		refused.cause = err
		return "", refused
	case int64(text.Len()) > limit:
		return "", tooLarge(nil)
	}
	return text.String(), nil
}

func checkHeader(h http.Header) error {
	mediaType, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || mediaType != "application/json" {
		return wrongType("application/json")
	}
	// JSON is UTF-8: a body that says otherwise means other characters.
	if charset, said := parameters["charset"]; said && !strings.EqualFold(charset, "utf-8") {
		return wrongType("application/json in UTF-8")
	}
	// Nothing unpacks a body here, and unpacked it could exceed the limit.
	if h.Get("Content-Encoding") != "" {
		return wrongType("no Content-Encoding")
	}
	return nil
}

// maxParts bounds the members and elements of a body, over all levels, and so its
// depth. A million small ones would cost far more than their bytes.
const maxParts = 1000

var errParts = errors.New("too many members")

// parts counts the members and elements of JSON text as it comes in.
type parts struct {
	count   int  // commas and opening brackets outside of strings
	quoted  bool // within a string
	escaped bool // after a backslash in it
}

func (p *parts) Write(text []byte) (int, error) {
	for _, c := range text {
		switch {
		case p.escaped:
			p.escaped = false
		case c == '"':
			p.quoted = !p.quoted
		case p.quoted:
			p.escaped = c == '\\'
		case c == ',' || c == '{' || c == '[':
			p.count++
		}
	}
	if p.count > maxParts {
		return 0, errParts
	}
	return len(text), nil
}
