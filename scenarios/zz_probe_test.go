package scenarios

import ("testing";"time";"fmt";"lockstep/clients")

func TestZZProbe(t *testing.T) {
	quietRedis()
	for _, ttl := range []time.Duration{time.Second, 10*time.Second, 30*time.Second} {
	calm, err := Shape{Lock:"redlock", Nodes:5, TTL: ttl}.Calm()
	if err != nil { t.Fatal(err) }
	build, _ := clients.Find("redlock")
	err = series(func(play player) {
		x := &explorer{calm: calm, build: build, play: play}
		start := time.Now()
		n := 0
		for seed := uint64(1); seed <= 30; seed++ {
			_, o := x.try(nil, seed)
			s := sites(calm, o, constants{TTL: ttl}, []Kind{Pausing})
			if seed == 1 { for _, p := range s { fmt.Println(p.At, p) } }
			n++
			_, o = x.try(s[int(seed)%len(s):][:1], seed)
			n++
			if seed == 1 { fmt.Println(len(o.History.Events)) }
		}
		fmt.Println(ttl, n, time.Since(start)/time.Duration(n), x.twice)
	})
	if err != nil { t.Fatal(err) }
	}
}
