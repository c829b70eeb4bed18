package signing_test

import (
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/signing"
)

func TestUnsafeKeyRefuses(t *testing.T) {
	tests := map[string]struct {
		clientKey string
		secrets   []signing.Secret
	}{
		"S05 an empty secret":              {"acme", []signing.Secret{""}},
		"S05 an empty secret among others": {"acme", []signing.Secret{"a", "", "b"}},
		"no secret":                        {"acme", nil},
		"an empty client key":              {"", []signing.Secret{"a"}},
		"129 bytes of client key":          {strings.Repeat("a", 129), []signing.Secret{"a"}},
		"a space in the client key":        {"ac me", []signing.Secret{"a"}},
		"a tab in the client key":          {"ac\tme", []signing.Secret{"a"}},
		"NUL in the client key":            {"acme\x00", []signing.Secret{"a"}},
		"DEL in the client key":            {"acme\x7f", []signing.Secret{"a"}},
		"a client key outside ASCII":       {"acmé", []signing.Secret{"a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			k, err := signing.UnsafeKey(test.clientKey, test.secrets...)
			if err == nil || k != nil {
				t.Fatalf("UnsafeKey = %v, %v, want an error", k, err)
			}
			if !strings.HasPrefix(err.Error(), "signing: ") {
				t.Errorf("error %q", err)
			}
		})
	}
}

func TestUnsafeKeyTakesTheLargestClientKey(t *testing.T) {
	long := strings.Repeat("~", 128)
	k, err := signing.UnsafeKey(long, "a")
	if err != nil {
		t.Fatal(err)
	}
	if k.ClientKey() != long {
		t.Errorf("ClientKey = %q", k.ClientKey())
	}
}
