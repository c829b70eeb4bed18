package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
)

// The login and logout routes of the reference server. Section 4 of the interface
// leaves these routes to the application.
const (
	loginPath  = "/accounts/login"
	logoutPath = "/accounts/me/logout"
)

// logIn opens a session for each worker, one after the other. A password costs a
// server more than any request of the load, and the server may refuse many logins
// at once.
func (l *load) logIn(ctx context.Context) error {
	body, err := json.Marshal(map[string]string{"email": l.o.email, "password": string(l.o.password)})
	if err != nil {
		return err
	}
	for range l.o.concurrency {
		if err := ctx.Err(); err != nil {
			return err
		}
		jar, err := cookiejar.New(nil)
		if err != nil {
			return err
		}
		c := client(l.to)
		c.Jar = jar
		if err := l.post(c, loginPath, body); err != nil {
			return fmt.Errorf("POST %s: %w", loginPath, err)
		}
		l.sessions = append(l.sessions, c)
	}
	return nil
}

// logOut ends the sessions, until the server refuses one or no longer answers.
func (l *load) logOut() {
	for _, c := range l.sessions {
		if l.post(c, logoutPath, nil) != nil {
			return
		}
	}
}

// post takes no context: an interrupt between a login and its reply would leave a
// session open.
func (l *load) post(c *http.Client, path string, body []byte) error {
	r, err := http.NewRequest(http.MethodPost, l.o.urls[0]+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	reply, err := c.Do(r)
	if err != nil {
		return err
	}
	return read(reply)
}
