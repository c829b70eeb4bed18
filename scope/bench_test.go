package scope_test

import (
	"fmt"
	"testing"

	"github.com/tenantkit/tenantkit/scope"
)

func chains(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("object.read.c_message.%024x", i*7919)
	}
	return list
}

func BenchmarkAllows(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		list := chains(n)
		set, err := scope.Compile("token", list...)
		if err != nil {
			b.Fatal(err)
		}
		text := list[n/2]
		need, _ := scope.ParseNeed(text)
		id := text[len("object.read.c_message."):]
		b.Run(fmt.Sprintf("need/%d", n), func(b *testing.B) {
			for b.Loop() {
				if !set.Allows(need) {
					b.Fatal()
				}
			}
		})
		b.Run(fmt.Sprintf("typed/%d", n), func(b *testing.B) {
			for b.Loop() {
				if !set.Allows(scope.Object(scope.Read, "c_message", id, "")) {
					b.Fatal()
				}
			}
		})
		b.Run(fmt.Sprintf("text/%d", n), func(b *testing.B) {
			for b.Loop() {
				need, _ := scope.ParseNeed(text)
				if !set.Allows(need) {
					b.Fatal()
				}
			}
		})
		b.Run(fmt.Sprintf("compile/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := scope.Compile("token", list...); err != nil {
					b.Fatal()
				}
			}
		})
	}
}
func BenchmarkFloorMap(b *testing.B) {
	m := map[string]int{}
	list := chains(1000)
	for i, s := range list {
		m[s] = i
	}
	for b.Loop() {
		if m[list[500]] != 500 {
			b.Fatal()
		}
	}
}
