package replaytable_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tenantkit/tenantkit/internal/replaytable"
)

// entry is an entry of the model of a table.
type entry struct{ value, end uint32 }

// check compares a table with a map, step by step, while time passes. It adds at most
// live entries for each tick.
func check(t *testing.T, random *rand.Rand, requests, steps, live int) {
	table, model := replaytable.New(requests), map[replaytable.Tag]entry{}
	var tags []replaytable.Tag
	now := uint32(0)
	for i := range steps {
		if random.IntN(live) == 0 {
			now += uint32(random.IntN(3)) * uint32(random.IntN(20))
		}
		if i%1000 == 0 {
			left := 0
			for _, e := range model {
				if e.end > now {
					left++
				}
			}
			table.Shrink(left, now)
		}
		tag := replaytable.Tag(random.Uint64())
		if len(tags) > 0 && random.IntN(3) == 0 {
			tag = tags[random.IntN(len(tags))]
		}
		want, found := model[tag]
		found = found && want.end > now
		e := table.Find(tag, now)
		if found != (e != nil) || found && e.Value != want.value {
			t.Fatalf("step %d, tick %d: found %v, want %v %v", i, now, e, found, want)
		}
		end := now + 1 + uint32(random.IntN(30))
		if found {
			e.Value++
			table.Extend(e, end)
			model[tag] = entry{want.value + 1, max(want.end, end)}
		} else {
			table.Add(tag, uint32(i), now, end)
			model[tag] = entry{uint32(i), end}
			tags = append(tags, tag)
		}
	}
	for tag, want := range model {
		e := table.Find(tag, now)
		if (e != nil) != (want.end > now) || e != nil && e.Value != want.value {
			t.Fatalf("in the end, at %d: %v, want %v", now, e, want)
		}
	}
}

func TestTableAgreesWithModel(t *testing.T) {
	for seed := range uint64(60) {
		live := []int{3, 30, 300, 3000}[seed%4]
		requests := []int{0, 1, 50_000}[seed%3]
		t.Run(fmt.Sprintf("seed %d, %d at a time", seed, live), func(t *testing.T) {
			check(t, rand.New(rand.NewPCG(seed, 0)), requests, 20_000, live)
		})
	}
}

func FuzzTable(f *testing.F) {
	f.Add(uint64(1), uint16(10))
	f.Add(uint64(2), uint16(1000))
	f.Fuzz(func(t *testing.T, seed uint64, live uint16) {
		check(t, rand.New(rand.NewPCG(seed, 1)), 0, 5000, int(live)+1)
	})
}

func TestTableLosesNothingAsItGrows(t *testing.T) {
	for _, requests := range []int{0, 100_000} {
		table := replaytable.New(requests)
		for i := range 100_000 {
			tag := replaytable.Tag(rand.Uint64())
			table.Add(tag, uint32(i), 0, 1)
			if e := table.Find(tag, 0); e == nil || e.Value != uint32(i) {
				t.Fatalf("entry %d: %v", i, e)
			}
		}
		if room := table.Room(); room < 100_000 || room > 160_000 {
			t.Errorf("room for %d with 100,000", room)
		}
	}
}

func TestTableGivesRoomBackInUse(t *testing.T) {
	table := replaytable.New(0)
	for range 100_000 {
		table.Add(replaytable.Tag(rand.Uint64()), 0, 0, 1)
	}
	for now := range uint32(100) {
		table.Shrink(1, now)
		table.Add(replaytable.Tag(rand.Uint64()), 0, now, now+1)
	}
	if room := table.Room(); room > 100 {
		t.Errorf("room for %d with one", room)
	}
}
