package clients

// A Variant is a lock that stands for one of [Locks]: the same, written in another way or with a mistake.
type Variant struct {
	Lock        // About says in one line what is different, or what the mistake is
	Like string // the name of that lock
}
