package scope

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Level is an access level on an object. Each level includes those before it. The zero
// Level is no level: leave such a claim out, for instance with omitzero. In JSON a level
// is written as a number, and read as a number or a name.
type Level uint8

// The access levels.
const (
	LevelPublic    Level = 1
	LevelConnected Level = 2
	LevelReserved  Level = 3
	LevelRead      Level = 4
	LevelShare     Level = 5
	LevelUpdate    Level = 6
	LevelDelete    Level = 7
	LevelScript    Level = 8
)

// ErrLevel is wrapped by every error about an access level: a number outside 1 to 8, an
// unknown name, or another JSON type.
var ErrLevel = errors.New("scope: not an access level")

var levelNames = []string{"none", "public", "connected", "reserved", "read", "share", "update", "delete", "script"}

// String returns the level's name, "none" for the zero Level.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return "Level(" + strconv.Itoa(int(l)) + ")"
}

// parseLevel reads a level by number or name: "4" and "read" are the same.
// Its error wraps ErrLevel.
func parseLevel(s string) (Level, error) {
	if len(s) == 1 && '1' <= s[0] && s[0] <= '8' {
		return Level(s[0] - '0'), nil
	}
	if i := slices.Index(levelNames, s); i > 0 {
		return Level(i), nil
	}
	return 0, fmt.Errorf("%w: %.40q", ErrLevel, s)
}

// MarshalJSON writes the level as a number. For a value that is no level, such as the
// zero Level, it returns an error that wraps ErrLevel.
func (l Level) MarshalJSON() ([]byte, error) {
	if l < LevelPublic || l > LevelScript {
		return nil, fmt.Errorf("%w: %d", ErrLevel, l)
	}
	return []byte{'0' + byte(l)}, nil
}

// UnmarshalJSON reads a number or a name. It refuses null: leave the claim out instead.
// Its error wraps ErrLevel.
func (l *Level) UnmarshalJSON(b []byte) error {
	text := string(b)
	if len(b) >= 2 && b[0] == '"' {
		text = text[1 : len(text)-1]
		if len(text) == 1 {
			return fmt.Errorf("%w: %s", ErrLevel, b)
		}
	}
	parsed, err := parseLevel(text)
	if err != nil {
		return err
	}
	*l = parsed
	return nil
}
