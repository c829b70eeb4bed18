package scope_test

import (
	"encoding/json"
	"flag"
	"io"
	"testing"

	"github.com/tenantkit/tenantkit/scope"
)

func TestChainAsText(t *testing.T) {
	for text, want := range map[string]string{"*": "*", "object.read.*.*": "object.read", "script.execute.route.r": "script.route.r"} {
		var chain scope.Chain
		if err := chain.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		out, err := chain.MarshalText()
		if err != nil || string(out) != want {
			t.Errorf("%s: %s, %v", text, out, err)
		}
	}
	if everything := scope.MustParse(""); everything.String() != "*" || everything != scope.MustParse("*.*") {
		t.Error(everything)
	}
	if _, err := (scope.Chain{}).MarshalText(); err == nil {
		t.Error("the zero Chain has a text")
	}
	chain := scope.MustParse("admin")
	if chain.UnmarshalText([]byte("Admin")) == nil || chain != scope.MustParse("admin") {
		t.Error("a refusal altered the chain")
	}
}

func TestTextHelpersNeverMakeEverythingOfNothing(t *testing.T) {
	var config struct{ Chains []scope.Chain }
	if err := json.Unmarshal([]byte(`{"Chains":[""]}`), &config); err == nil {
		t.Error("configuration")
	}
	var chain scope.Chain
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.TextVar(&chain, "scope", scope.MustParse("admin"), "")
	if flags.Parse([]string{"-scope="}) == nil || chain.Covers(scope.MustParse("object")) {
		t.Error("flag")
	}
}

func TestZeroChain(t *testing.T) {
	var zero scope.Chain
	everything := scope.MustParse("*")
	if zero.Covers(zero) || zero.Covers(everything) || everything.Covers(zero) || zero.String() != "" {
		t.Error("the zero Chain covers or is covered")
	}
}
