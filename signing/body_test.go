package signing_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// A client announces a length before it sends a byte. Memory follows what has come.
func TestV17MemoryFollowsTheBody(t *testing.T) {
	const first = 18 << 10 // 16 KiB and the end, in the next size of the allocator
	for _, announced := range []int64{1 << 20, 1 << 30, 1 << 62, -1} {
		s := secondServer(t)
		s.Policy.MaxBody = math.MaxInt64 - 1
		body := strings.Repeat("x", 100<<10)
		r := second("POST", "/x", body)
		r.ContentLength = announced
		come, sent := 0, strings.NewReader(body)
		r.Body = io.NopCloser(readerFunc(func(p []byte) (int, error) {
			if len(p) > come+first+1 {
				t.Fatalf("%d bytes announced: room for %d more after %d", announced, len(p), come)
			}
			n, err := sent.Read(p[:min(len(p), 1000)])
			come += n
			return n, err
		}))
		if _, err := s.Verify(t.Context(), r, "/x"); err != nil {
			t.Errorf("%d bytes announced: %v", announced, err)
		}
		if got, err := io.ReadAll(r.Body); string(got) != body || err != nil {
			t.Errorf("%d bytes announced: the handler read %d bytes, %v", announced, len(got), err)
		}
	}
}

func TestBodiesOfAllLengths(t *testing.T) {
	for _, size := range []int{1, 511, 512, 513, 16<<10 - 1, 16 << 10, 16<<10 + 1, 40 << 10, 1 << 20} {
		for _, length := range []int64{int64(size), -1, 1, 1 << 20} {
			for name, slow := range map[string]func(io.Reader) io.Reader{
				"at once": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "the end with data": iotest.DataErrReader,
			} {
				s := secondServer(t)
				body := strings.Repeat("0123456789", size/10+1)[:size]
				r := second("POST", "/x", body)
				r.Body, r.ContentLength = io.NopCloser(slow(strings.NewReader(body))), length
				_, err := s.Verify(t.Context(), r, "/x")
				if got, _ := io.ReadAll(r.Body); err != nil || string(got) != body {
					t.Errorf("%d bytes, Content-Length %d, %s: %d bytes, %v", size, length, name, len(got), err)
				}
			}
		}
	}
}

// The body of a request whose nonce is used is not read, if it is long or its length unknown.
func TestV18AUsedNonceReadsNoBody(t *testing.T) {
	for _, length := range []int64{16<<10 + 1, 1 << 20, -1} {
		now := time.Now().Truncate(time.Second).Add(2 * time.Second)
		s := secondServer(t)
		s.Now = func() time.Time { return now }
		s.Replays = signing.NewMemory(10)
		r := second("POST", "/x", "body", param("created", fmt.Sprintf("created=%d", now.Unix())))
		if _, err := s.Verify(t.Context(), r, "/x"); err != nil {
			t.Fatal(err)
		}
		r.ContentLength = length
		r.Body = io.NopCloser(readerFunc(func([]byte) (int, error) {
			t.Errorf("%d bytes: read", length)
			return 0, io.EOF
		}))
		if _, err := s.Verify(t.Context(), r, "/x"); !errors.Is(err, signing.ErrReplayed) {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
}

// What is only looked up is not recorded: neither a nonce under a wrong signature, nor one whose
// body turns out to be wrong.
func TestV18LookingUpRecordsNothing(t *testing.T) {
	now := time.Now().Truncate(time.Second).Add(2 * time.Second)
	memory := signing.NewMemory(10)
	s := secondServer(t)
	s.Now = func() time.Time { return now }
	s.Replays = memory
	body := strings.Repeat("x", 20<<10)
	r := second("POST", "/x", body, param("created", fmt.Sprintf("created=%d", now.Unix())))
	forged := r.Clone(t.Context())
	forged.Header.Set("Signature", strings.Replace(r.Header.Get("Signature"), "sig=:", "sig=:AAAA", 1)[:len(r.Header.Get("Signature"))])
	for name, bad := range map[string]*http.Request{"forged": forged, "another body": r.Clone(t.Context())} {
		bad.Body = io.NopCloser(strings.NewReader("y" + body[1:]))
		if _, err := s.Verify(t.Context(), bad, "/x"); err == nil || errors.Is(err, signing.ErrReplayed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := memory.Len(); n != 0 {
		t.Errorf("%d requests are remembered", n)
	}
	if _, err := s.Verify(t.Context(), r, "/x"); err != nil {
		t.Errorf("the honest request: %v", err)
	}
}

// lookedUp is a store that counts look-ups, and answers them with an error.
type lookedUp struct {
	signing.Replays
	calls *int
	err   error
}

func (l lookedUp) Used(context.Context, string, string) (bool, error) {
	*l.calls++
	return false, l.err
}

func TestV18OnlyVerifiedRequestsAreLookedUp(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		size   int
		change func(*http.Request)
		looks  int
		want   error
	}{
		{"a long body", 20 << 10, func(*http.Request) {}, 1, broken},
		{"a short one", 16 << 10, func(*http.Request) {}, 0, nil},
		{"a wrong signature", 20 << 10, func(r *http.Request) { r.URL.RawQuery = "x" }, 0, signing.ErrMismatch},
		{"longer than the bound", 1<<20 + 1, func(*http.Request) {}, 0, signing.ErrBodyTooLarge},
		{"no body", 0, func(*http.Request) {}, 0, nil},
	} {
		s, calls := secondServer(t), 0
		s.Replays = lookedUp{anything{}, &calls, broken}
		r := second("POST", "/x", strings.Repeat("x", c.size))
		c.change(r)
		if _, err := s.Verify(t.Context(), r, "/x"); !errors.Is(err, c.want) || calls != c.looks {
			t.Errorf("%s: %d look-ups, %v", c.name, calls, err)
		}
	}
}

func TestVerifyOfABodyAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	body := `{"c_text":"thirty bytes long"}`
	v, r := hotSecond(t, body)
	sent := bytes.NewReader([]byte(body))
	received := io.NopCloser(sent)
	allocs := testing.AllocsPerRun(1000, func() {
		sent.Seek(0, io.SeekStart)
		r.Body = received
		if _, err := v.Verify(r.Context(), r, "/connections"); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 2 { // the nonce for the store, and the body for the handler
		t.Errorf("%v allocations", allocs)
	}
}
