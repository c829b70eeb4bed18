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

// BodyError reports why the body of a request was refused. auth.Fail answers with its
// Fault. It is not a *Fault itself, because a *Fault may come from another server and
// must not reach the clients of this server.
type BodyError struct {
	fault *Fault
	cause error
}

// Error returns the text of the fault, and that of the cause.
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
//   - 415 unsupportedMediaType.unspecified, if the body is not JSON in UTF-8;
//   - 413 tooLarge.unspecified;
//   - 400 invalidArgument.body, with a child for each thing that is wrong, or with a
//     reason if the body as a whole is wrong.
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

// These limit the reply to a refused body. A name in the body may be as long as the
// body.
const (
	maxFaults = 32  // children of the fault
	maxShown  = 100 // bytes of the path in each
)

// shown cuts a path to maxShown bytes.
func shown(path string) string {
	if len(path) <= maxShown {
		return path
	}
	return strings.ToValidUTF8(path[:maxShown], "") + "…"
}

// bodyText reads the body of r. The header must say that it is JSON in UTF-8.
func bodyText(r *http.Request, limit int64) (string, error) {
	if err := checkHeader(r.Header); err != nil {
		return "", err
	}
	if r.ContentLength > limit {
		return "", tooLarge(nil) // before reading
	}
	var text strings.Builder
	var seen partCounter
	// The buffer is small, so that little is read after the last allowed part.
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
	// JSON is UTF-8. In another charset the same bytes mean other characters.
	if charset, said := parameters["charset"]; said && !strings.EqualFold(charset, "utf-8") {
		return wrongType("application/json in UTF-8")
	}
	// Nothing decompresses a body here, and decompressed it could exceed the limit.
	if h.Get("Content-Encoding") != "" {
		return wrongType("no Content-Encoding")
	}
	return nil
}

// maxParts limits the members and elements of a body over all levels, and so its
// depth. A million small ones would cost far more than their bytes.
const maxParts = 1000

var errParts = errors.New("too many members")

// partCounter counts the members and elements of a JSON text while it is read.
type partCounter struct {
	count   int  // commas and opening brackets outside of strings
	quoted  bool // inside a string
	escaped bool // after a backslash in a string
}

func (p *partCounter) Write(text []byte) (int, error) {
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
