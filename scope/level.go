package scope

import (
	"errors"
	"fmt"
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

var errLevel = errors.New("scope: not an access level")

var levelNames = []string{"none", "public", "connected", "reserved", "read", "share", "update", "delete", "script"}

// String returns the level's name, "none" for the zero Level.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return "Level(" + strconv.Itoa(int(l)) + ")"
}

// MarshalJSON writes the level as a number. A value that is no level, such as the zero Level,
// is an error.
func (l Level) MarshalJSON() ([]byte, error) {
	if l < LevelPublic || l > LevelScript {
		return nil, fmt.Errorf("%w: %d", errLevel, l)
	}
	return []byte{'0' + byte(l)}, nil
}

// UnmarshalJSON reads a number or a name. It refuses null: leave the claim out instead.
func (l *Level) UnmarshalJSON(b []byte) error {
	text := string(b) // once: a stranger's may be long
	for known := LevelPublic; known <= LevelScript; known++ {
		if text == `"`+known.String()+`"` || text == strconv.Itoa(int(known)) {
			*l = known
			return nil
		}
	}
	return fmt.Errorf("%w: %.40s", errLevel, b)
}
