package walk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tenantkit/tenantkit/internal/clock"
)

// These values say how often and how patiently a page is requested again.
const (
	retries  = 4
	backoff  = 250 * time.Millisecond // doubled each time
	patience = time.Minute            // the longest Retry-After; a longer one ends the walk
)

// get requests target, and again while the server is busy. Each attempt goes through
// the whole client, so that a signing transport signs each attempt anew.
func get(ctx context.Context, client *http.Client, target string) (*http.Response, error) {
	client = staying(client)
	for attempt := 0; ; attempt++ {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
		if err != nil {
			return nil, errURL
		}
		request.Header.Set("Accept", "application/json")
		reply, err := client.Do(request)
		if err != nil {
			// A query may hold personal data, and a URL may hold a token.
			if e, ok := errors.AsType[*url.Error](err); ok {
				err = fmt.Errorf("%s: %w", e.Op, e.Err)
			}
			return nil, err
		}
		wait, again := pause(reply, attempt)
		if !again {
			return reply, nil
		}
		_, _ = io.CopyN(io.Discard, reply.Body, 64<<10) // so that its connection can be used again
		_ = reply.Body.Close()
		if err := clock.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

var errURL = errors.New("List.URL is not valid")

// pause returns how long to wait before the next attempt. again is false if there
// must not be one. The wait is the server's Retry-After plus a random time, so that
// clients that were refused together do not come back together.
func pause(reply *http.Response, attempt int) (wait time.Duration, again bool) {
	switch reply.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		return 0, false
	}
	wait = retryAfter(reply.Header)
	if attempt == retries || wait > patience {
		return 0, false
	}
	return wait + rand.N(backoff<<attempt), true
}

// retryAfter reads Retry-After (RFC 9110, section 10.2.3): seconds or a date.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(time.Until(date), 0)
	}
	return 0
}

var errRedirect = errors.New("redirected to another server")

// staying returns a client that follows no redirect to another server, where a
// transport would present its credential to a stranger.
func staying(client *http.Client) *http.Client {
	client = cmp.Or(client, http.DefaultClient)
	copied := *client
	copied.CheckRedirect = func(request *http.Request, via []*http.Request) error {
		if first := via[0].URL; request.URL.Scheme != first.Scheme || request.URL.Host != first.Host {
			return errRedirect
		}
		if client.CheckRedirect != nil {
			return client.CheckRedirect(request, via)
		}
		if len(via) >= 10 {
			return errors.New("too many redirects")
		}
		return nil
	}
	return &copied
}
