package sqlstore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/internal/testing/printed"
)

func key(b byte) []byte {
	key := bytes.Repeat([]byte{b}, 32)
	key[0]++
	return key
}

func TestNewSealer(t *testing.T) {
	for name, c := range map[string]struct {
		current []byte
		old     [][]byte
		ok      bool
	}{
		"one key":           {key(1), nil, true},
		"two keys":          {key(1), [][]byte{key(2)}, true},
		"no key":            {nil, nil, false},
		"a short key":       {key(1)[1:], nil, false},
		"a long key":        {append(key(1), 0), nil, false},
		"a short old key":   {key(1), [][]byte{key(2)[1:]}, false},
		"zeros":             {make([]byte, 32), nil, false},
		"one byte repeated": {bytes.Repeat([]byte{'x'}, 32), nil, false},
	} {
		s, err := sqlstore.NewSealer(c.current, c.old...)
		if (err == nil) != c.ok || (s != nil) != c.ok {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

func TestSealerPrintsNothing(t *testing.T) {
	s, err := sqlstore.NewSealer(key(0xAB))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	untimed := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{} // its digits may equal those of the key
		}
		return a
	}
	slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: untimed})).Info("", "sealer", s)
	encoded, err := json.Marshal(map[string]any{"sealer": s})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		s.String(), s.GoString(), fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %x %d", s, s, s, s, s), fmt.Sprintf("%+v", *s), log.String(), string(encoded),
		fmt.Sprintf("%+v", sqlstore.Options{Sealer: s}), printed.All(s), printed.All(*s), printed.All(sqlstore.Options{Sealer: s}),
	} {
		if strings.Contains(strings.ToLower(text), "abab") || strings.Contains(text, "171 171") || strings.Contains(text, "\xab\xab") {
			t.Errorf("printed %q", text)
		}
	}
}
