package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type kind int

const (
	signed kind = iota
	bearer
	session
	kinds // the number of kinds
)

var kindNames = [kinds]string{"signed", "bearer", "session"}

func (k kind) String() string { return kindNames[k] }

func kindOf(name string) kind {
	if i := slices.Index(kindNames[:], name); i >= 0 {
		return kind(i)
	}
	return kinds
}

// maxShare is the greatest sum of a mix, and so the greatest length of a round.
const maxShare = 1000

// mix is how many requests of each kind are sent in one round.
type mix [kinds]int

func (m *mix) String() string {
	var shares []string
	for k, share := range m {
		if share > 0 {
			shares = append(shares, fmt.Sprintf("%v=%d", kind(k), share))
		}
	}
	return strings.Join(shares, ",")
}

// Set implements flag.Value. A kind that text does not name is not sent.
func (m *mix) Set(text string) error {
	var read mix
	sum := 0
	for part := range strings.SplitSeq(text, ",") {
		name, number, _ := strings.Cut(part, "=")
		k := kindOf(name)
		share, err := strconv.Atoi(number)
		if k == kinds || err != nil || share < 0 || share > maxShare || read[k] > 0 {
			return errors.New("shares of signed, bearer and session, such as signed=2,bearer=1")
		}
		read[k] = share
		sum += share
	}
	if sum == 0 || sum > maxShare {
		return fmt.Errorf("the shares add up to 1 to %d", maxShare)
	}
	*m = read
	return nil
}

// turns returns the kinds of one round, each spread over it as evenly as possible.
// The next turn goes to the kind that is furthest behind its share.
func (m mix) turns() []kind {
	sum := 0
	for _, share := range m {
		sum += share
	}
	round := make([]kind, sum)
	var owed mix
	for turn := range round {
		next := signed
		for k := range kinds {
			owed[k] += m[k]
			if owed[k] > owed[next] {
				next = k
			}
		}
		owed[next] -= sum
		round[turn] = next
	}
	return round
}
