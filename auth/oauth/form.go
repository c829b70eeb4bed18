package oauth

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/auth"
)

const (
	maxForm       = 32 << 10 // bytes of a body; a token has 8 KiB at most
	maxParameters = 17       // twice as many as are defined
)

// form holds the parameters of a body. One without a value counts as omitted (RFC 6749, section
// 3.2).
type form map[string]string

// readForm reads the body. A parameter may not occur twice, and none may be in the query, where
// logs would keep it.
func readForm(r *http.Request) (form, error) {
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		return nil, invalidRequest("parameters belong into the body")
	}
	mediaType, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := parameters["charset"]
	if err != nil || mediaType != "application/x-www-form-urlencoded" || len(r.Header["Content-Type"]) > 1 ||
		charset != "" && !strings.EqualFold(charset, "utf-8") || r.Header.Get("Content-Encoding") != "" {
		return nil, invalidRequest("the body must be application/x-www-form-urlencoded")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxForm+1))
	if len(body) > maxForm || errors.As(err, new(*http.MaxBytesError)) {
		return nil, refuse(auth.DetailTooLarge, codeRequest, "the body is too large", err)
	}
	if bytes.Count(body, []byte("&")) >= maxParameters { // before each costs memory: nobody has authenticated yet
		return nil, invalidRequest("too many parameters")
	}
	values, bad := url.ParseQuery(string(body))
	if err != nil || bad != nil {
		return nil, invalidRequest("the body is malformed")
	}
	f := form{}
	for name, all := range values {
		switch {
		case len(all) > 1:
			return nil, invalidRequest("a parameter occurs twice")
		case !utf8.ValidString(all[0]):
			return nil, invalidRequest("a parameter is not UTF-8")
		case all[0] != "":
			f[name] = all[0]
		}
	}
	return f, nil
}

// isOf reports whether the form names no other client. The id may be left out, because the
// credential has it.
func (f form) isOf(clientKey string) bool {
	return !f.has("client_id") || f["client_id"] == clientKey
}

// has reports whether one of the parameters is there.
func (f form) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return f[name] != "" })
}
