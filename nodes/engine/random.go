package engine

import lua "github.com/yuin/gopher-lua"

// drand48 is the generator that redis-server uses for Lua's math.random (rand.c): the same numbers on every machine, and since
// Redis 7 one sequence for the lifetime of the process.
type drand48 uint64

// firstDrand48 is the initial state in a process that never calls srand48.
const firstDrand48 drand48 = 0x1234abcd330e

func (d *drand48) next() int64 {
	*d = (*d*0x5deece66d + 0xb) & (1<<48 - 1)
	return int64(*d >> 17)
}

// random is math.random.
func (d *drand48) random(l *lua.LState) int {
	const top = 1<<31 - 1
	fraction := float64(d.next()%top) / top
	low, high := 1, 1
	switch l.GetTop() {
	case 0:
		l.Push(lua.LNumber(fraction))
		return 1
	case 1:
		if high = l.CheckInt(1); high < 1 {
			l.ArgError(1, "interval is empty")
		}
	case 2:
		if low, high = l.CheckInt(1), l.CheckInt(2); low > high {
			l.ArgError(2, "interval is empty")
		}
	default:
		l.RaiseError("wrong number of arguments")
	}
	l.Push(lua.LNumber(float64(int64(fraction*float64(high-low+1))) + float64(low)))
	return 1
}

// seed is math.randomseed.
func (d *drand48) seed(l *lua.LState) int {
	*d = drand48(uint32(l.CheckInt(1)))<<16 + 0x330e
	return 0
}
