package main

import (
	"testing"

	"github.com/cedar-policy/cedar-go"

	"github.com/tenantkit/tenantkit/scope"
)

func TestScopeCompile(t *testing.T)      { check(t, "ScopeCompile", compilers()) }
func BenchmarkScopeCompile(b *testing.B) { race(b, compilers()) }

// compilers get lists in the form that each of them reads.
func compilers() []contender {
	good, bad := instances(1000), instances(1000)
	bad[500].object = ""
	return []contender{
		compiler("map", good, bad, texts, func(list []string) error {
			if len(mapCompile(list)) != len(list) {
				return errRefused
			}
			return nil
		}),
		compiler(ours, good, bad, texts, func(list []string) error {
			_, err := scope.Compile("token", list...)
			return err
		}),
		compiler("NATS sublist", good, bad, texts, func(list []string) error {
			_, err := natsCompile(list)
			return err
		}),
		compiler("casbin", good, bad, casbinRules, func(list [][]string) error {
			_, err := casbinCompile(list)
			return err
		}),
		compiler("cedar-go", good, bad, cedarText, func(text []byte) error {
			_, err := cedar.NewPolicySetFromBytes("policy.cedar", text)
			return err
		}),
	}
}

// compiler prepares the lists beforehand, as a server has them in its store.
func compiler[T any](name string, good, bad []operation, write func([]operation) T, compile func(T) error) contender {
	goodText, badText := write(good), write(bad)
	return contender{
		name: name,
		good: func() error { return compile(goodText) },
		bad:  map[string]func() error{"an empty segment": func() error { return compile(badText) }},
	}
}
