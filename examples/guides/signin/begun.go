package signin

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// begun is a sign-in that a browser has begun. The browser keeps it: a response that comes with
// another browser's state is somebody else's sign-in.
type begun struct {
	Callback string // the callback of a provider: a response to another one is not for this sign-in
	State    string
	Nonce    string
	Verifier string // of PKCE (RFC 7636)
	Page     string // where the person goes afterwards: see ownPage
}

func begin(callback, page string) begun {
	return begun{Callback: callback, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Page: page}
}

// cookie returns the name of an org's cookie. No other host can set one with the prefix __Host-, and
// so choose the sign-in that this browser completes.
func cookie(org string) string { return "__Host-signin-" + org }

// keep sends the cookie. SameSite=Lax lets the browser send it when the provider redirects back.
func (b begun) keep(w http.ResponseWriter, org string) {
	text, _ := json.Marshal(b) // strings only
	http.SetCookie(w, &http.Cookie{Name: cookie(org), Value: base64.RawURLEncoding.EncodeToString(text), Path: "/",
		MaxAge: int((10 * time.Minute).Seconds()), Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// take reads the cookie, and deletes it: a sign-in is completed once.
func take(w http.ResponseWriter, r *http.Request, org string) (b begun, err error) {
	c, err := r.Cookie(cookie(org))
	if err != nil {
		return b, errToken
	}
	http.SetCookie(w, &http.Cookie{Name: cookie(org), Path: "/", MaxAge: -1, Secure: true, HttpOnly: true})
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || json.Unmarshal(text, &b) != nil {
		return begun{}, errToken
	}
	return b, nil
}

// same reports whether two secrets are equal. Nothing is the same as an empty one.
func same(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// ownPage returns the page if it is a path of this server, and the first page otherwise. Browsers read
// a backslash as a slash, so //host has more forms. Parse rejects the tabs and line ends that they skip.
func ownPage(page string) string {
	_, err := url.Parse(page)
	if err != nil || !strings.HasPrefix(page, "/") || strings.HasPrefix(page, "//") || strings.Contains(page, `\`) {
		return "/"
	}
	return page
}
