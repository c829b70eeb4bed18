package walk_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging/walk"
)

// TestALoopThatIsLeftLeavesNothing breaks off in the middle of a page. The body of
// the page must be closed. synctest fails if a goroutine is left.
func TestALoopThatIsLeftLeavesNothing(t *testing.T) {
	type list = walk.List[envelope.Item]
	for name, items := range map[string]func(list, context.Context) iter.Seq2[envelope.Item, error]{
		"All":   list.All,
		"Pages": func(l list, ctx context.Context) iter.Seq2[envelope.Item, error] { return walk.Items(l.Pages(ctx)) },
		"of a property": func(l list, ctx context.Context) iter.Seq2[envelope.Item, error] {
			l.Property = "records"
			return l.All(ctx)
		},
	} {
		t.Run("P19 "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				replies := new(watched)
				l := list{URL: listURL, Client: &http.Client{Transport: replies}}
				for item, err := range items(l, t.Context()) {
					if item.ID != "1" || err != nil {
						t.Error(item, err)
					}
					break
				}
				next, stop := iter.Pull2(items(l, t.Context()))
				if item, err, ok := next(); item.ID != "1" || err != nil || !ok {
					t.Error(item, err, ok)
				}
				stop()
				if replies.opened != 2 || replies.closed != 2 {
					t.Errorf("%d bodies opened, %d closed", replies.opened, replies.closed)
				}
			})
		})
	}
}

// watched sends the same page forever, for a list and for an object that contains it.
// It counts the bodies that are closed.
type watched struct{ opened, closed int }

func (w *watched) RoundTrip(*http.Request) (*http.Response, error) {
	const data = `"object":"list","data":[{"_id":"1"},{"_id":"2"}],"hasMore":true`
	w.opened++
	body := strings.NewReader(`{` + data + `,"records":{` + data + `}}`)
	return &http.Response{StatusCode: http.StatusOK, Body: closing{body, func() { w.closed++ }}}, nil
}

type closing struct {
	io.Reader
	closed func()
}

func (c closing) Close() error { c.closed(); return nil }

// TestTheEndOfAContextEndsAWalk waits for the rest of a page that never comes.
func TestTheEndOfAContextEndsAWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		closed := 0
		s := bodies(`{"object":"list","data":[{"_id":"1"}],"hasMore":true}`)
		s.replies = append(s.replies, func(r *http.Request) (*http.Response, error) {
			half := io.MultiReader(strings.NewReader(`{"object":"list","data":[{"_id":"2"},`), stuck{r.Context()})
			return &http.Response{StatusCode: http.StatusOK, Body: closing{half, func() { closed++ }}}, nil
		})
		start := time.Now()
		got, err := collect(walk.List[envelope.Item]{Client: s.client(), URL: listURL}.All(ctx))
		if stopped, ok := errors.AsType[*walk.Error](err); !ok || stopped.After != "1" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("P19 %#v", err)
		}
		if len(got) != 1 || closed != 1 || time.Since(start) != time.Second {
			t.Errorf("P19 %v after %v, closed %d times", got, time.Since(start), closed)
		}
	})
}

// stuck is a body that sends nothing until its request is cancelled.
type stuck struct{ ctx context.Context }

func (s stuck) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}
