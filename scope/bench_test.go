package scope_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/scope"
)

func instance(i int) string { return fmt.Sprintf("object.read.c_message.%024x", i*7919) }

func instances(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = instance(i)
	}
	return list
}

// BenchmarkAllows checks needs against lists of instances. A map with the same keys is the
// baseline: the least that any check costs. The time must not depend on the number of
// chains.
func BenchmarkAllows(b *testing.B) {
	for _, n := range []int{1, 8, 10, 100, 1000} {
		list := instances(n)
		set, keys := compile(b, list...), map[string]struct{}{}
		for _, chain := range list {
			keys[chain] = struct{}{}
		}
		text := instance(n / 2)
		id := text[len("object.read.c_message."):]
		granted, denied := need(b, text), need(b, "object.read.c_message."+id1)
		run := func(name string, want bool, decide func() bool) {
			b.Run(fmt.Sprintf("%s/chains=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if decide() != want {
						b.Fatal()
					}
				}
			})
		}
		run("map", true, func() bool { _, ok := keys[text]; return ok })
		run("need", true, func() bool { return set.Allows(granted) })
		run("denied", false, func() bool { return set.Allows(denied) })
		run("typed", true, func() bool { return set.Allows(scope.Object(scope.Read, "c_message", id, "")) })
		run("text", true, func() bool { n, _ := scope.ParseNeed(text); return set.Allows(n) })
	}
}

// BenchmarkAllowsEach asks for another instance each time, so that no cache line stays
// warm.
func BenchmarkAllowsEach(b *testing.B) {
	for _, n := range []int{1, 1000} {
		set := compile(b, instances(n)...)
		needs := make([]scope.Need, n)
		for i := range needs {
			needs[i] = need(b, instance(i))
		}
		b.Run(fmt.Sprintf("chains=%d", n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				if !set.Allows(needs[i]) {
					b.Fatal()
				}
				if i += 7; i >= n {
					i %= n
				}
			}
		})
	}
}

// BenchmarkAllowsKind checks a need for every instance of one object name.
func BenchmarkAllowsKind(b *testing.B) {
	set := compile(b, "object.read.c_message", "object.read.c_note", "script")
	granted := need(b, "object.read.c_message")
	for name, decide := range map[string]func() bool{
		"need":  func() bool { return set.Allows(granted) },
		"typed": func() bool { return set.Allows(scope.Object(scope.Read, "c_message", "", "")) },
		"text":  func() bool { n, _ := scope.ParseNeed("object.read.c_message"); return set.Allows(n) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !decide() {
					b.Fatal()
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{1, 10, 1000} {
		list := instances(n)
		b.Run(fmt.Sprintf("chains=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := scope.Compile("token", list...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/chain")
		})
	}
}

// hostile returns n chains of the greatest length, with as many stars and types as the
// grammar allows, that share long prefixes.
func hostile(n int) []string {
	list := make([]string, n)
	for i := range list {
		var path strings.Builder
		for bit := range 28 {
			path.WriteString(".p123456")
			if i>>(bit%10)&1 == 1 {
				path.WriteString("#t234567")
			}
		}
		list[i] = "object.*.*.*" + path.String()
	}
	return list
}

func BenchmarkHostile(b *testing.B) {
	for _, n := range []int{128, 1024} {
		list := hostile(n)
		b.Run(fmt.Sprintf("compile/chains=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := scope.Compile("token", list...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/chain")
		})
		set := compile(b, list...)
		worst := need(b, "object.read.c_a."+id1+strings.Repeat(".p#t", 28)[:28*4-4]+".q")
		everyPath := need(b, "object.read.c_a."+id1+strings.Repeat(".p123456#t234567", 27)+".q")
		for name, n := range map[string]scope.Need{"worst": everyPath, "nothing": worst} {
			b.Run(fmt.Sprintf("%s/chains=%d", name, len(list)), func(b *testing.B) {
				for b.Loop() {
					if set.Allows(n) {
						b.Fatal()
					}
				}
			})
		}
	}
}

func BenchmarkUnion(b *testing.B) {
	token, role := compile(b, instances(1000)...), compile(b, "admin", "object.read.c_note")
	b.ReportAllocs()
	for b.Loop() {
		sink = token.Union(role)
	}
}

func BenchmarkExplain(b *testing.B) {
	set := compile(b, instances(1000)...)
	for name, text := range map[string]string{
		"allowed": instance(500), "instance": "object.read.c_message." + id1, "path": "object.read.c_message." + id1 + ".name.first",
		"verb": "object.update.c_message", "root": "script.route.r",
	} {
		n := need(b, text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set.Explain(n)
			}
		})
	}
}

func BenchmarkOverlaps(b *testing.B) {
	set := compile(b, instances(1000)...)
	for name, text := range map[string]string{"kind": "object.read.c_message", "instance": instance(500), "none": "object.read.c_note"} {
		n := need(b, text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set.Overlaps(n)
			}
		})
	}
}

// BenchmarkOf checks about 600 paths of one instance, a third of them nested, as the reply
// to a list does.
func BenchmarkOf(b *testing.B) {
	paths := make([]string, 600)
	var some []string
	for i := range paths {
		paths[i] = fmt.Sprintf("c_field_%d", i)
		if i%3 == 0 {
			paths[i] += ".value"
		}
		if i%2 == 0 {
			some = append(some, "object.read.c_message.*."+paths[i])
		}
	}
	for name, set := range map[string]scope.Set{
		"300 properties": compile(b, some...),
		"one property":   compile(b, "object.read.c_message."+id1+".c_field_1"),
		"whole":          compile(b, "object.read.c_message"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				keep := set.On(scope.Read, "c_message").Of(id1)
				for _, path := range paths {
					keep(path)
				}
			}
		})
	}
}

func BenchmarkIDs(b *testing.B) {
	grant := compile(b, instances(1000)...).On(scope.Read, "c_message")
	for b.Loop() {
		grant.IDs()
	}
}
