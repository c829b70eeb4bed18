package signing

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tenantkit/tenantkit/internal/urlpath"
)

// ErrPath is returned by Command for a path that two programs could read in two
// ways, or that is not below the mount. Command and Verify return it for a
// command of more than 2 KiB.
var ErrPath = errors.New("signing: path is not clean")

var (
	errMount = fmt.Errorf("%w: not below the mount", ErrPath)
	errLong  = fmt.Errorf("%w: command is longer than %d bytes", ErrPath, maxCommand)
)

// maxCommand and maxMethod bound what a MAC is computed over, for each live
// secret of a key and for two spellings. No registered method is longer.
const (
	maxCommand = 2 << 10
	maxMethod  = 32
)

// Command returns the command of r, what a signature is made over: the escaped
// path as it was sent, without the mount (such as "/acme/v2", or "" for none),
// with a leading slash and without a trailing one; the root is "/". Nothing is
// decoded and the query has no part in it.
//
// Paths that are not clean are refused with an error that wraps ErrPath, and are
// never repaired: bytes that should have been escaped, empty segments, dot
// segments, escaped letters, digits, '-', '_' or '.', control characters,
// backslashes, and escapes that are not UTF-8. So are commands of more than 2 KiB.
func Command(r *http.Request, mount string) (string, error) {
	escaped, ok := urlpath.Clean(r.URL)
	if r.URL.Opaque != "" || !ok && r.URL.Path != "" {
		return "", ErrPath
	}
	return below(escaped, mount)
}

// below takes the mount off a clean escaped path.
func below(escaped, mount string) (string, error) {
	resource, ok := strings.CutPrefix(escaped, strings.TrimSuffix(mount, "/"))
	switch {
	case !ok, resource != "" && resource[0] != '/':
		return "", errMount
	case resource == "" || resource == "/":
		return "/", nil
	}
	command := strings.TrimSuffix(resource, "/")
	if len(command) > maxCommand {
		return "", errLong
	}
	return command, nil
}

// Clients built on the WHATWG URL rules may sign these three bare and send them
// escaped.
var bareSpelling = strings.NewReplacer("%7C", "|", "%27", "'", "%5E", "^")

// alternative returns the one other spelling a client may have signed, if there
// is one.
func alternative(command string) (string, bool) {
	bare := bareSpelling.Replace(command)
	return bare, bare != command
}
