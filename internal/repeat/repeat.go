// Package repeat sends requests again, such as those whose answer was lost.
package repeat

import (
	"crypto/rand"
	"errors"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/tenantkit/tenantkit/internal/clock"
)

// Key is the header that tells a service that two requests are one.
const Key = "Idempotency-Key"

const replayed = "Idempotent-Replayed" // a header of a response that was kept

const (
	tries   = 4
	first   = 200 * time.Millisecond // wait before the second try, and twice as long before each other
	longest = 10 * time.Second       // if a service asks for more, its answer is returned
	drained = 64 << 10               // of a reply, so that its connection can be used again
)

// Do sends r by send. If it may, it sends r again as long as the answer is lost: send says so of an
// error or a reply, and some replies say it themselves. Only a POST or PATCH is repeated, whose body
// can be read again. All tries have one Key: the caller's, or a random one.
func Do(may bool, r *http.Request, send func(*http.Request) (res *http.Response, lost bool, err error)) (*http.Response, error) {
	may = may && (r.Method == http.MethodPost || r.Method == http.MethodPatch) && (isEmpty(r) || r.GetBody != nil)
	if may && r.Header.Get(Key) == "" {
		r = r.Clone(r.Context())
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header.Set(Key, rand.Text())
	}
	for try := 1; ; try++ {
		res, lost, err := send(r)
		wait := first << (try - 1)
		if err == nil && !lost {
			wait, lost = isLost(res, wait)
		}
		if !may || !lost || try == tries || clock.Sleep(r.Context(), wait+mathrand.N(wait/2+1)) != nil {
			return res, err
		}
		if r, may = Again(r, res); !may {
			return res, err
		}
	}
}

// isLost reports whether a reply says nothing of what became of the request: the service, or a proxy
// before it, could not answer, or it is still at work on an earlier try. wait is changed to what the
// reply asks for.
func isLost(res *http.Response, wait time.Duration) (time.Duration, bool) {
	asked, err := strconv.ParseInt(res.Header.Get("Retry-After"), 10, 64)
	named := err == nil || errors.Is(err, strconv.ErrRange) // then asked is the number that is nearest
	if named {
		wait = time.Duration(max(0, min(asked, 3600))) * time.Second
	}
	switch res.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return wait, wait <= longest && res.Header.Get(replayed) == "" // else it is what became of the request
	}
	return wait, res.StatusCode == http.StatusConflict && named && wait <= longest
}

func isEmpty(r *http.Request) bool { return r.Body == nil || r.Body == http.NoBody }

// Again returns r with a fresh body, and closes res, the answer to r, if there is one. It returns false,
// and leaves res as it is, if the body cannot be read again.
func Again(r *http.Request, res *http.Response) (*http.Request, bool) {
	if !isEmpty(r) {
		if r.GetBody == nil {
			return nil, false
		}
		body, err := r.GetBody()
		if err != nil {
			return nil, false
		}
		r = r.WithContext(r.Context())
		r.Body = body
	}
	if res != nil {
		if res.ContentLength >= 0 { // a body of unknown length may never end
			_, _ = io.CopyN(io.Discard, res.Body, drained)
		}
		res.Body.Close()
	}
	return r, true
}
