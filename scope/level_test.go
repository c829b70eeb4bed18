package scope_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/tenantkit/tenantkit/scope"
)

func TestLevels(t *testing.T) {
	names := []string{"public", "connected", "reserved", "read", "share", "update", "delete", "script"}
	levels := []scope.Level{
		scope.LevelPublic, scope.LevelConnected, scope.LevelReserved, scope.LevelRead,
		scope.LevelShare, scope.LevelUpdate, scope.LevelDelete, scope.LevelScript,
	}
	for i, want := range levels {
		number := string('1' + byte(i))
		if int(want) != i+1 || want.String() != names[i] {
			t.Errorf("%s is %d, %s", names[i], want, want)
		}
		for _, text := range []string{number, `"` + names[i] + `"`} {
			var got scope.Level
			if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
				t.Errorf("%s: %v, %v", text, got, err)
			}
		}
		for _, text := range []string{number, names[i]} {
			if got, err := parseLevel(text); err != nil || got != want {
				t.Errorf("%s: %v, %v", text, got, err)
			}
		}
		if out, err := json.Marshal(want); err != nil || string(out) != number {
			t.Errorf("%s: %s, %v", want, out, err)
		}
	}
}

func TestLevelsOutOfRangeAreRefused(t *testing.T) {
	for _, text := range []string{
		"0", "9", "-1", "99", "256", "260", "4.0", "4e0", `"4"`, `"9"`, `"none"`, `"Read"`, `" read"`, `""`, "null", "true", "[4]", "{}", `["read"]`,
	} {
		level := scope.LevelPublic
		if err := json.Unmarshal([]byte(text), &level); !errors.Is(err, scope.ErrLevel) || level != scope.LevelPublic {
			t.Errorf("%s: %v, %v", text, level, err)
		}
	}
	for _, level := range []scope.Level{0, 9, 255} {
		if out, err := json.Marshal(level); !errors.Is(err, scope.ErrLevel) {
			t.Errorf("%d: %s, %v", level, out, err)
		}
	}
	// Callers other than encoding/json may pass anything.
	for _, text := range []string{"", `"`, `""`, "44", "xreadx", `"read`, `read"`} {
		level := scope.LevelPublic
		if err := level.UnmarshalJSON([]byte(text)); !errors.Is(err, scope.ErrLevel) || level != scope.LevelPublic {
			t.Errorf("%s: %v, %v", text, level, err)
		}
	}
	if scope.Level(0).String() != "none" || scope.Level(9).String() != "Level(9)" {
		t.Error(scope.Level(0), scope.Level(9))
	}
}

// parseLevel reads a name, or a number.
func parseLevel(text string) (level scope.Level, err error) {
	if len(text) > 1 {
		text = `"` + text + `"`
	}
	return level, json.Unmarshal([]byte(text), &level)
}
