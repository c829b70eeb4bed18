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
