package nodes

import (
	"strconv"
	"strings"
)

// keySlot returns the slot of a key: CRC-16 (XMODEM) of what is between the first pair of braces, or of the whole key.
func keySlot(key string) int {
	if _, after, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(after, "}"); ok && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % clusterSlots
}

// InOtherSlot reports whether a reply says that a command is for another node because its key is not in the slot of the lock.
func InOtherSlot(reply string) bool {
	word, rest, _ := strings.Cut(reply, " ")
	slot, _, _ := strings.Cut(rest, " ")
	return word == "MOVED" && slot != strconv.Itoa(keySlot(MasterName))
}

// Ranges divide the slots into as many equal parts as there are shards.
func (g *Group) rangeOf(slot int) int { return ((slot+1)*g.cfg.Shards - 1) / clusterSlots }

func (g *Group) slots(i int) (first, last int) {
	return i * clusterSlots / g.cfg.Shards, (i+1)*clusterSlots/g.cfg.Shards - 1
}
