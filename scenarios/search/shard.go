package search

import (
	"fmt"
	"strconv"
	"strings"
)

// A Shard is a part of some work that is done on several machines. The zero Shard is all of it.
type Shard struct {
	Part int `json:"shard"` // from 1 to Of; 0 stands for all parts
	Of   int `json:"of"`    // how many parts there are; 0 if the work is not divided
}

// MostShards is the greatest number of parts.
const MostShards = 100_000

// ParseShard reads a shard such as 3/64.
func ParseShard(text string) (Shard, error) {
	part, of, _ := strings.Cut(text, "/")
	i, err := strconv.Atoi(part)
	n, no := strconv.Atoi(of)
	if err == nil && no == nil && 1 <= n && n <= MostShards && (i < 1 || n < i) {
		return Shard{}, fmt.Errorf("shard %d/%d: the first number must be from 1 to %[2]d", i, n)
	}
	if err != nil || no != nil || i < 1 || n < i || n > MostShards {
		return Shard{}, fmt.Errorf("%q must be a shard and the number of shards, from 1/1 to %d/%[2]d, such as 3/64", text, MostShards)
	}
	return Shard{i, n}, nil
}

// String prints what ParseShard reads, or "all".
func (s Shard) String() string {
	if s.Part == 0 {
		return "all"
	}
	return fmt.Sprintf("%d/%d", s.Part, s.Of)
}

// Has reports whether the shard has piece i of the work, counted from 0.
func (s Shard) Has(i int) bool { return s.Part == 0 || i%s.Of == s.Part-1 }
