package explain

import "testing"

// TestLockless: whether the clients of a run had a lock. What a probe asks for is no lock of theirs.
func TestLockless(t *testing.T) {
	for _, test := range []struct {
		name, story string
		want        bool
	}{
		{"nobody asked", "1 c1 invoke write A", true},
		{"only the probe asked", "probe probe\n1 c1 invoke write A\n2 probe invoke acquire\n3 probe fail acquire", true},
		{"it was got without a key", "1 c1 invoke acquire\n2 c1 ok acquire c1#1 until=10", true},
		{"it was got without a key, and refused to another", "1 c1 invoke acquire\n2 c1 ok acquire c1#1 until=10\n3 c2 invoke acquire\n4 c2 fail acquire", true},
		{"it was refused", "1 c1 invoke acquire\n2 c1 fail acquire", false},
		{"it was refused to a client, and the probe got it", "probe probe\n1 c1 invoke acquire\n2 c1 fail acquire\n3 probe invoke acquire\n4 probe ok acquire probe#1 until=10", false},
		{"a key stood for it", "1 c1 invoke acquire\n1.5 n1 set c1#1\n2 c1 ok acquire c1#1 until=10", false},
		{"a key that counts stood for it", "1 c1 invoke acquire\n1.5 n1 set 1 by=c1\n2 c1 ok acquire c1#1 until=10", false},
	} {
		narrate(t, test.story, func(n *narrator) {
			if got := n.lockless(); got != test.want {
				t.Errorf("%s: %v", test.name, got)
			}
		})
	}
}
