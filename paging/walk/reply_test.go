package walk_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging/walk"
)

func TestHasMore(t *testing.T) {
	for value, more := range map[string]bool{
		`true`: true, `"true"`: true, `false`: false, `"false"`: false, `1`: false, `null`: false, `"TRUE"`: false,
	} {
		s := bodies(
			`{"object":"list","data":[{"_id":"1"}],"hasMore":`+value+`}`,
			`{"object":"list","data":[{"_id":"2"}]}`,
		)
		got, err := collect(walk.List[envelope.Item]{Client: s.client(), URL: listURL}.All(t.Context()))
		if err != nil || (len(got) == 2) != more {
			t.Errorf("P16 %s: %v, %v", value, got, err)
		}
	}
}

// endless is a body without end.
type endless struct{ read, closed int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return copy(p, strings.Repeat(" ", len(p))), nil
}

func (e *endless) Close() error { e.closed++; return nil }

func TestBadReplies(t *testing.T) {
	const good = `{"object":"list","data":[{"_id":"1"}],"hasMore":true}`
	tests := map[string]struct {
		body string
		want error
	}{
		"an HTML page":     {`<!doctype html><p>Sign in`, envelope.ErrNotJSON},
		"a truncated page": {`{"object":"list","data":[{"_id":"2"},{"_id":"3"`, envelope.ErrNotJSON},
		"another object":   {`{"object":"record","_id":"2"}`, envelope.ErrShape},
		"nothing":          {``, envelope.ErrNotJSON},
	}
	for name, tc := range tests {
		t.Run("P18 "+name, func(t *testing.T) {
			list := walk.List[envelope.Item]{Client: bodies(good, tc.body).client(), URL: listURL}
			got, err := collect(list.All(t.Context()))
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff([]string{"1"}, got); diff != "" {
				t.Errorf("part of a page was given out:\n%s", diff)
			}
		})
	}
}

func TestABodyWithoutEnd(t *testing.T) {
	body := new(endless)
	answer := always(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200, Body: body}, nil })
	_, err := collect(walk.List[envelope.Item]{Client: answer.client(), URL: listURL}.All(t.Context()))
	if !errors.Is(err, envelope.ErrTooLarge) || body.read > 33<<20 || body.closed != 1 {
		t.Errorf("P18 %v after %d bytes, closed %d times", err, body.read, body.closed)
	}
}

func TestAFaultWhateverTheStatus(t *testing.T) {
	const fault = `{"object":"fault","errCode":"service.accessDenied.scope","status":403,"code":"kAccessDenied"}`
	for _, status := range []int{200, 400, 403, 500} {
		answer := always(func(*http.Request) (*http.Response, error) { return raw(status, fault), nil })
		_, err := collect(walk.List[envelope.Item]{Client: answer.client(), URL: listURL}.All(t.Context()))
		var got *envelope.Fault
		if !errors.As(err, &got) || got.Detail != "accessDenied.scope" {
			t.Errorf("P18 %d: %v", status, err)
		}
	}
}

func TestAListWithAnotherStatusIsNone(t *testing.T) {
	answer := always(func(*http.Request) (*http.Response, error) { return raw(404, ranked("1")), nil })
	_, err := collect(walk.List[envelope.Item]{Client: answer.client(), URL: listURL}.All(t.Context()))
	if err == nil || err.Error() != "walk: unexpected status 404" {
		t.Error(err)
	}
}

func TestKeysBehindWhichNothingCanBeAsked(t *testing.T) {
	for _, items := range []string{ranked("1:{}"), ranked("1:[1]", "2:3"), ranked("1:3", "2:{}"), ranked(`1:"\u0000"`)} {
		list := byRank(false)
		list.Client, list.URL = bodies(items).client(), listURL
		if got, err := collect(list.All(t.Context())); err == nil || got != nil {
			t.Errorf("%s: %v, %v", items, got, err)
		}
	}
}

func TestAURLThatIsNone(t *testing.T) {
	for _, u := range []string{"", ":", "http://platform.test/%zz"} {
		if _, err := collect(walk.List[envelope.Item]{URL: u}.All(t.Context())); err == nil {
			t.Errorf("%q accepted", u)
		}
	}
}
