package walk_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging/walk"
)

// TestErrorsDoNotTellTheURL: a URL may contain a password or a token, and its query
// may contain personal data.
func TestErrorsDoNotTellTheURL(t *testing.T) {
	refused := errors.New("connection refused")
	failing := always(func(*http.Request) (*http.Response, error) { return nil, refused })
	for _, target := range []string{"http://user:hunter2@ho st/x", "http://host/x?token=hunter2", "http://user:hunter2@host/x"} {
		list := walk.List[envelope.Item]{URL: target, Client: failing.client()}
		for _, err := range list.All(t.Context()) {
			if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Count(err.Error(), "walk: ") != 1 {
				t.Errorf("%s: %v", target, err)
			}
			if !strings.Contains(target, " ") && !errors.Is(err, refused) {
				t.Errorf("%s: the cause is gone: %v", target, err)
			}
		}
	}
}
