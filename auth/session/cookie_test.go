package session_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

func TestF02WhatIsNoSessionCookie(t *testing.T) {
	w := newWorld(t)
	honest := w.ann()
	token := honest.cookie(cookieName)
	gus := w.browser()
	gus.org = "globex"
	want(t, gus.login("gus", "gus's password"), 200, "")

	for name, value := range map[string]string{
		"F02 empty":                        "",
		"F02 truncated":                    token[:42],
		"F02 extended":                     token + "A",
		"F02 extended by a blank":          token + " A",
		"F02 quoted":                       `"` + token + `"`,
		"F02 padded":                       token + "=",
		"F02 spare bits of the last digit": token[:42] + spare(token[42]),
		"F02 the other base64 alphabet":    strings.Repeat("+/", 21) + "A",
		"F02 of another org":               gus.cookie("__Host-session-globex"),
		"F02 well-formed and unknown":      strings.Repeat("A", 43),
		"F02 SQL text":                     "' OR '1'='1' --",
		"F02 NUL":                          token[:42] + "\x00",
		"F02 8 KiB":                        strings.Repeat("A", 8<<10),
	} {
		t.Run(name, func(t *testing.T) {
			handled := w.handled.Load()
			b := w.browser()
			b.jar[cookieName] = value
			got := b.get("/me")
			want(t, got, 401, expired)
			if sets(got) != "-"+cookieName {
				t.Errorf("cookies %q", sets(got))
			}
			if w.handled.Load() != handled {
				t.Error("the handler ran")
			}
		})
	}
	for name, line := range map[string]string{
		"F02 two session cookies":           cookieName + "=" + token + "; " + cookieName + "=" + token,
		"F02 an empty one beside the right": cookieName + "=" + token + "; " + cookieName,
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/me", "/maybe"} {
				got := w.browser().get(path, "Cookie", line)
				want(t, got, 400, auth.DetailAmbiguous)
				if len(got.cookies) > 0 {
					t.Errorf("cookies %q", sets(got))
				}
			}
		})
	}
	t.Run("F02 two cookie lines", func(t *testing.T) {
		want(t, honest.get("/me", "Cookie", cookieName+"=x"), 400, auth.DetailAmbiguous)
	})
	t.Run("F02 the token in the URL, in a header, under another name", func(t *testing.T) {
		b := w.browser()
		missing := auth.DetailNoCredentials
		want(t, b.get("/me?session="+token+"&"+cookieName+"="+token), 401, missing)
		want(t, b.get("/me", cookieName, token, "Session", token, "Authorization", "Session "+token), 401, missing)
		for _, name := range []string{"session-acme", "__host-session-acme", "__Host-Session-acme", "__Secure-session-acme",
			"__Host-session-acme2", "__Host-session-", "__Host-session", "__Host-session-globex", "__Host-session-acme ", ""} {
			want(t, b.get("/me", "Cookie", name+"="+token), 401, missing)
		}
	})
	// Browsers apply the __Host- rules only to names that begin with the prefix. Another
	// host can set a cookie whose name begins with another kind of blank.
	t.Run("F02 a name that hides its prefix from browsers", func(t *testing.T) {
		for _, blank := range []string{"\u00a0", "\u0085", "\u2000", "\u2028", "\u3000", "\v", "\f", "\xa0"} {
			want(t, w.browser().get("/me", "Cookie", blank+cookieName+"="+token), 401, auth.DetailNoCredentials)
			want(t, honest.get("/me", "Cookie", blank+cookieName+"="+gus.cookie("__Host-session-globex")), 200, "")
		}
	})
	t.Run("F02 among other cookies", func(t *testing.T) {
		b := w.browser()
		want(t, b.get("/me", "Cookie", "a=b;  "+cookieName+"="+token+"\t; =x; ;c", "Cookie", "d"), 200, "")
	})
	t.Run("F02 the session of one org in the URL of another", func(t *testing.T) {
		w.directory.PutAccount(auth.Account{ID: "ann", Org: "globex"}) // somebody else
		b := w.browser()
		b.org, b.jar["__Host-session-globex"] = "globex", token
		want(t, b.get("/me"), 401, expired)
	})
	want(t, honest.get("/me"), 200, "")
}

// spare returns another last digit with which 43 digits decode to the same bytes.
func spare(digit byte) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(digits[strings.IndexByte(digits, digit)|3])
}

func TestCookiesAttributes(t *testing.T) {
	w := newWorld(t)
	b := w.ann()
	secret, _ := b.enrol()
	for name, got := range map[string]reply{
		cookieName: b.post("/reauthenticate", "login", "ann", "password", annPassword),
		ticketName: w.browser().login("ann", annPassword),
	} {
		if len(got.cookies) != 1 {
			t.Fatalf("cookies %q", sets(got))
		}
		line := got.header.Get("Set-Cookie")
		value := got.cookies[0].Value
		if want := name + "=" + value + "; Path=/; HttpOnly; Secure; SameSite=Lax"; line != want || len(value) != 43 {
			t.Errorf("got  %s\nwant %s", line, want)
		}
	}
	w.clock.Advance(time30)
	got := b.post("/logout")
	want(t, got, 200, "")
	if line := got.header.Get("Set-Cookie"); line != cookieName+"=; Path=/; Expires=Thu, 01 Jan 1970 00:00:01 GMT; Max-Age=0; HttpOnly; Secure; SameSite=Lax" {
		t.Errorf("cleared by %s", line)
	}
	_ = secret
}

func TestF13ThePrefixGoesByTheBaseURL(t *testing.T) {
	for name, c := range map[string]struct {
		base string
		safe bool
	}{
		"F13 https behind a loopback proxy": {"https://api.example.test", true},
		"F13 https on a loopback host":      {"https://localhost:8443", true},
		"F13 http on another host":          {"http://api.example.test", true},
		"F13 http on a name like it":        {"http://localhost.example.test", true},
		"F13 http on localhost":             {"http://localhost:8080", false},
		"F13 http on 127.0.0.1":             {"http://127.0.0.1", false},
		"F13 http on ::1":                   {"http://[::1]:8080", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world) { w.guard.BaseURL = c.base })
			b := w.browser()
			b.remote = "127.0.0.1:1"
			r := httptest.NewRequest("POST", "http://127.0.0.1/acme/v2/login", strings.NewReader(form("login", "ann", "password", annPassword)))
			r.RemoteAddr = "127.0.0.1:4711"
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("X-Forwarded-Proto", "http")
			rec := httptest.NewRecorder()
			w.mux.ServeHTTP(rec, r)
			cookies := rec.Result().Cookies()
			if rec.Code != 200 || len(cookies) != 1 {
				t.Fatalf("got %d %v", rec.Code, cookies)
			}
			if got := cookies[0]; got.Secure != c.safe || strings.HasPrefix(got.Name, "__Host-") != c.safe || !got.HttpOnly {
				t.Errorf("cookie %s", got)
			}
			b.keep(cookies)
			want(t, b.get("/me"), 200, "")
		})
	}
}

func TestCookieNames(t *testing.T) {
	for name, c := range map[string]struct {
		cookie, ticket string
		err            string
	}{
		"the defaults":                {"", "", ""},
		"of an application's own":     {"sid", "pending-{org}", ""},
		"with the prefix written out": {"__Host-sid-{org}", "__Host-t-{org}", ""},
		"no name":                     {"a b", "", "Cookies.Session is not"},
		"a separator":                 {"", "a;b", "Cookies.Ticket is not"},
		"two orgs":                    {"{org}{org}", "", "Cookies.Session is not"},
		"the org not at the end":      {"sid-{org}-x", "", ""},
		"one name for both":           {"same", "__Host-same", "is the Cookies.Session"},
		"that of the device":          {"device-{org}", "", "is the Cookies.Session"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &session.Manager{Store: new(session.Memory).Sessions(), Attempts: new(session.Memory).Attempts(), Cookies: session.Cookies{Session: c.cookie, Ticket: c.ticket}}
			err := m.Bind(new(auth.Settings))
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v", err)
			}
		})
	}
	for name, cookie := range map[string]string{"sid-{org}": "__Host-sid-acme", "__Host-{org}": "__Host-acme", "a_{org}_known": "__Host-a_acme_known", "{org}-s": "__Host-acme-s"} {
		w := newWorld(t, func(w *world) { w.manager.Cookies.Session = name })
		b := w.browser()
		want(t, b.login("ann", annPassword), 200, "")
		if b.cookie(cookie) == "" {
			t.Errorf("%s: cookies %v", name, b.jar)
		}
		want(t, b.get("/me"), 200, "")
		want(t, b.get("/me", "Cookie", cookie+"x=y; x"+cookie+"=y"), 200, "")
		b.org = "globex"
		want(t, b.get("/me"), 401, auth.DetailNoCredentials)
	}

	// If all orgs have the same cookie name, a session is still valid only in its own org.
	w := newWorld(t, func(w *world) { w.manager.Cookies.Session = "sid" })
	b := w.browser()
	want(t, b.login("ann", annPassword), 200, "")
	want(t, b.get("/me", "Cookie", "__Host-sid2=x; __Host-si=x; sid=x"), 200, "")
	b.org = "globex"
	want(t, b.get("/me"), 401, expired)
}

// A request is admitted only if it carries the exact token in exactly one cookie of the
// right name, whatever else the header holds.
func FuzzCookieHeader(f *testing.F) {
	seedCookies(f)
	w := newWorld(f)
	token := w.ann().cookie(cookieName)
	f.Fuzz(func(t *testing.T, line string) { onlyWhole(t, w, line, cookieName, token, "GET", "/me") })
}

// The same holds for the ticket of an enrolment.
func FuzzTicketHeader(f *testing.F) {
	seedCookies(f)
	w := newWorld(f, org(func(o *auth.Org) { o.Session.SecondFactor = true }))
	b := w.browser()
	want(f, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
	token := b.cookie(ticketName)
	f.Fuzz(func(t *testing.T, line string) { onlyWhole(t, w, line, ticketName, token, "POST", "/enrol") })
}

// seedCookies are Cookie headers in which @ stands for the valid cookie.
func seedCookies(f *testing.F) {
	for _, seed := range []string{"@", "a=b; @", "@; @", "@;\t@x", " @", "\u00a0@", "@=", "x@", "@\"", "=@", "a=\";@;\"", ";;@ ;", "@,@", "$Version=1; @"} {
		f.Add(seed)
	}
}

func onlyWhole(t *testing.T, w *world, line, name, token, method, path string) {
	if strings.ContainsAny(line, "\r\n\x00") {
		t.Skip("net/http refuses such a header before anybody reads it")
	}
	line = strings.ReplaceAll(line, "@", name+"="+token)
	r := httptest.NewRequest(method, "/acme/v2"+path, nil)
	r.Header["Cookie"] = []string{line}
	rec := httptest.NewRecorder()
	w.mux.ServeHTTP(rec, r)
	named := regexp.MustCompile(`(?:^|;)[ \t]*` + name + `[ \t]*(?:=([^;]*))?(?:$|;)`)
	read := r.CookiesNamed(name)
	if rec.Code == 200 {
		found := named.FindStringSubmatch(line)
		if found == nil || strings.TrimRight(found[1], " \t") != token || strings.Count(";"+line, name+"="+token) < 1 {
			t.Errorf("%q got in", line)
		}
		if len(read) > 1 {
			t.Errorf("%q got in, with %d cookies of the name", line, len(read))
		}
	}
	plain := len(read) == 1 && read[0].Value == token && !read[0].Quoted && strings.Count(line, name) == 1
	if plain && strings.Contains(line, name+"=") && rec.Code != 200 {
		t.Errorf("%q: got %d, and net/http reads the one cookie", line, rec.Code)
	}
	if rec.Code != 200 && rec.Code != 400 && rec.Code != 401 {
		t.Errorf("%q: got %d", line, rec.Code)
	}
}

// Each token has exactly one spelling.
func FuzzParseSecret(f *testing.F) {
	honest := session.Text([32]byte{1, 2, 3})
	for _, text := range []string{honest, "", honest[:42], honest + "=", honest[:42] + "\n", "\r" + honest[:42], honest[:42] + "B"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if token, ok := session.ParseToken(text); ok && session.Text(token) != text {
			t.Errorf("%q was read as %q", text, session.Text(token))
		}
	})
}
