package script

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"
)

// Every run of the catalogue goes into a token and comes back, and no token is much longer than a line or two.
func TestTokens(t *testing.T) {
	all, err := Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	longest, sum, n := 0, 0, 0
	for _, s := range all {
		for _, r := range s.Runs {
			page := *s
			page.Runs = []Section{r}
			token, err := page.Token()
			if err != nil {
				t.Fatalf("%s/%s: %v", s.Name, r.ID(), err)
			}
			longest, sum, n = max(longest, len(token)), sum+len(token), n+1
			checkToken(t, &page, token)
		}
	}
	t.Logf("%d tokens: %d characters on average, %d at most", n, sum/n, longest)
	if longest > 700 || sum/n > 250 {
		t.Error("tokens are too long to be pasted")
	}
}

// checkToken fails the test unless a token has the run of a page, and is one word for a shell.
func checkToken(t *testing.T, page *Scenario, token string) {
	t.Helper()
	back, err := FromToken(token)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, token, page)
	}
	if got, want := back.Bare(), page.Bare(); got.String() != want.String() {
		t.Fatalf("%s came back as\n%s", want, got)
	}
	if !IsToken(token) || strings.Trim(token, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		t.Fatalf("%s is no word for a shell", token)
	}
}

// A token that was printed once can be read for ever.
func TestOldToken(t *testing.T) {
	const token = "lk1.IsFpyD7H4lsk90JtM0ZYk2ZqYWCZaJyUmGyemphingZyHOmFFSAAAP__pKro4g"
	const want = `# A client pauses, and the resource accepts a write under an old lease.

client c1
  acquire
  pause 20s
  write A
client c2
  acquire within 20s

-- redlock nodes=3 checksum=f5809a3bac7ead7f --
expect resource exclusion violated: bounded pause
`
	s, err := FromToken(token)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestDamagedToken(t *testing.T) {
	s, err := Find("pause-after-acquire")
	if err != nil {
		t.Fatal(err)
	}
	s.Runs = s.Runs[:1]
	token, err := s.Token()
	if err != nil {
		t.Fatal(err)
	}
	// packed makes a token of what others have packed.
	packed := func(text string, size int) string {
		var b bytes.Buffer
		w, err := flate.NewWriterDict(&b, flate.BestCompression, []byte(tokenWords))
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(text))
		w.Write(make([]byte, size))
		w.Close()
		sum := crc32.ChecksumIEEE(append([]byte(text), make([]byte, size)...))
		return tokenForm + base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(b.Bytes(), sum))
	}
	for _, c := range []struct{ token, want string }{
		{token[:len(token)-1], "damaged"},
		{token[:len(token)/2], "damaged"},
		{token + "A", "damaged"},
		{strings.Replace(token, token[10:12], "AA", 1), "damaged"},
		{"lk1.", "damaged"},
		{"lk1.$HOME", "damaged"},
		{"lk2" + token[3:], "the token has version 2, but this program reads version 1"},
		{token[1:], "not a token; a token begins with lk1."},
		{"pause-after-acquire", "not a token"},
		{tokenForm + strings.Repeat("A", longestToken), "at most 16384 characters"},
		{packed("", 1<<23), "damaged"},
		{packed("client c1\n  puase 3s\n\n-- single nodes=1 --\n", 0), `unknown step "puase"`},
		{packed("client c1\n  acquire\n\n-- single nodes=1 --\n-- single nodes=1 label=b --\n", 0), "it must have one"},
	} {
		if _, err := FromToken(c.token); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: %v, want %q", c.token, err, c.want)
		}
	}
	for i := len(tokenForm); i < len(token); i++ { // any one character
		other := byte('A')
		if token[i] == other {
			other = 'B'
		}
		if _, err := FromToken(token[:i] + string(other) + token[i+1:]); err == nil {
			t.Fatalf("nobody notices that character %d is another one", i)
		}
	}
	two, err := Find("pause-after-acquire")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Token(); err == nil || !strings.Contains(err.Error(), "a token holds one run") {
		t.Errorf("several runs: %v", err)
	}
	long := *s
	long.Lanes = []Lane{{Process: "c1", Steps: []Step{Acquire{}, Write{Value: strings.Repeat("A", longestPage)}}}}
	if _, err := long.Token(); err == nil || !strings.Contains(err.Error(), "at most 65536") {
		t.Errorf("a long page: %v", err)
	}
}

// Whatever can be parsed can be a token, and whatever pretends to be a token is refused or can be.
func FuzzToken(f *testing.F) {
	all, err := Catalogue()
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range all[:10] {
		page := *s
		page.Runs = page.Runs[:1]
		token, err := page.Token()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(page.String(), token)
	}
	f.Fuzz(func(t *testing.T, text, token string) {
		if s, err := Parse("x.txtar", []byte(text)); err == nil {
			s.Runs = s.Runs[:1]
			if again, err := s.Checked(); err == nil {
				if made, err := again.Token(); err == nil {
					checkToken(t, again, made)
				}
			}
		}
		if s, err := FromToken(token); err == nil {
			made, err := s.Token()
			if err != nil {
				t.Fatal(err)
			}
			checkToken(t, s, made)
		}
	})
}
