package signing

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tenantkit/tenantkit/internal/baseurl"
	"github.com/tenantkit/tenantkit/internal/urlpath"
)

// ErrPath is returned by Command for a path that two programs could read differently,
// or that is not below the mount. Command and Verify return it for a command of more
// than 2 KiB.
var ErrPath = errors.New("signing: path is not clean")

var (
	errMount = fmt.Errorf("%w: not below the mount", ErrPath)
	errLong  = fmt.Errorf("%w: command is longer than %d bytes", ErrPath, maxCommand)
)

// maxCommand bounds the length of the message of a MAC. One MAC is computed for each live
// secret of a key, and for two spellings of the command.
const maxCommand = 2 << 10

// Command returns the command of r, which is the part of the path that a signature
// covers. It is the escaped path as it was sent, without the mount (such as
// "/acme/v2", or "" for none). It has a leading slash and no trailing one; the root
// is "/". Nothing is decoded, and the query is not part of it.
//
// A path that is not clean is refused with an error that wraps ErrPath, and is never
// repaired. A clean path has no
//
//   - empty segments or dot segments;
//   - bytes that should have been escaped;
//   - escaped letters, digits, '-', '_' or '.';
//   - control characters or backslashes;
//   - escapes that are not UTF-8.
//
// A command of more than 2 KiB is refused in the same way.
func Command(r *http.Request, mount string) (string, error) {
	escaped, err := escapedPath(r.URL)
	if err != nil {
		return "", err
	}
	return below(escaped, mount)
}

// escapedPath returns the escaped path of a URL, as it was sent. It is empty for a URL
// without one.
func escapedPath(u *url.URL) (string, error) {
	escaped, ok := urlpath.Clean(u)
	if u.Opaque != "" || !ok && u.Path != "" {
		return "", ErrPath
	}
	return escaped, nil
}

// below removes the mount from a clean escaped path.
func below(escaped, mount string) (string, error) {
	resource, ok := baseurl.Below(escaped, mount)
	switch {
	case !ok:
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

// Clients built on the WHATWG URL rules may sign these three characters bare but send
// them escaped.
var bareSpelling = strings.NewReplacer("%7C", "|", "%27", "'", "%5E", "^")

// alternative returns the one other spelling that a client may have signed, and
// whether it differs.
func alternative(command string) (string, bool) {
	bare := bareSpelling.Replace(command)
	return bare, bare != command
}
