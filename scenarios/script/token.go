package script

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"regexp"
	"strings"
)

// A token is a run in one word that needs no quoting in a shell: lock, shape, seed, and the lanes of the clients and the nemesis.
// It is the page without the text that is only for readers, in a form that is versioned, compressed and protected by a checksum.

const (
	tokenForm    = "lk1." // the prefix of the tokens of this version
	longestToken = 16 << 10
	longestPage  = 64 << 10 // in a token
	tokenTitle   = "# A run in a token.\n"
)

// tokenWords are frequent words of pages, as a dictionary for the compression. They are part of the version: if one changes,
// older tokens cannot be read.
const tokenWords = ` check enter read stay increment within 10s update repeat 10 write A blind
 persistence=none persistence=rdb persistence=aof-everysec persistence=aof-everysec-slow persistence=aof-lying min-replicas=1
 down-after=30s sentinels=3 shards=3 resource=versioned resource=counter resource=check-and-set resource=fenced label= ttl=
expect tokens violated: none
expect fault tolerance violated: durable nodes
expect expired on return violated: bounded delay
expect no lost update violated: bounded delay
expect owner only violated: bounded clock error
expect deadlock freedom violated: none
expect resource exclusion violated: bounded pause
expect lease exclusion violated: bounded clock error
 promote r1 follow n1 r1 slew n1 +1s over 100000ppm drift n1 -100000ppm jump c1 -10s jump n1 +10s stop n1 power
 hold n1 release n1 reset n1 delay c1->n1 50ms
  on request EVALSHA #2 c1->n1 delay
  on reply SET n1->c1 reset
  on request write c1->resource delay 10s
  when n1 deletes c1 when c1 refused when c1 lost when c1 renewed when c1 entered when c1 extends when c1 extended when c2 writes B
  when c1 wrote A when c1 releases when c1 released cut c1-n2
  when c2 acquires +10s heal c2-n2
  when c1 acquired crash n3
  when n2 sets c1 pause c1 12s
  when n1 sets c1 crash n1
  when n1 sets c1 +50ms restart n1 empty
  at 1s cut c1-n1
  at 2s heal c1-n1
nemesis
client c3
  until 10ms
  acquire within 25s every 2500ms
  write C
  extend
  sleep 2s
  release
client c2
  until 5ms
  acquire within 20s
  write B
client c1
  acquire
  pause 20s
  write A
  release

-- redlock-sequential nodes=5 replicas=1 --
-- watchdog nodes=1 --
-- single nodes=1 seed=1 checksum=`

// Token returns the only run of the scenario as a token.
func (s *Scenario) Token() (string, error) {
	if len(s.Runs) != 1 {
		return "", fmt.Errorf("a token holds one run, but %s has %d", s.Name, len(s.Runs))
	}
	text, _ := strings.CutPrefix(s.Bare().String(), tokenTitle)
	if len(text) > longestPage {
		return "", fmt.Errorf("the scenario file has %d bytes without its timeline; a token holds at most %d", len(text), longestPage)
	}
	var b bytes.Buffer
	w, err := flate.NewWriterDict(&b, flate.BestCompression, []byte(tokenWords))
	if err != nil {
		return "", err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	data := binary.BigEndian.AppendUint32(b.Bytes(), crc32.ChecksumIEEE([]byte(text)))
	token := tokenForm + base64.RawURLEncoding.EncodeToString(data)
	if len(token) > longestToken {
		return "", fmt.Errorf("the token would have %d characters; the limit is %d", len(token), longestToken)
	}
	return token, nil
}

// Bare returns the page without the text that is only for readers.
func (s *Scenario) Bare() *Scenario {
	return s.Edited(func(page *Scenario) {
		page.Title, page.Prose = strings.TrimSpace(strings.TrimPrefix(tokenTitle, "#")), ""
		page.Runs[0].Golden = ""
	})
}

var tokenLike = regexp.MustCompile(`^lk[0-9]+\.`)

// IsToken reports whether s is a token, whole or damaged, and not the name of something else.
func IsToken(s string) bool { return tokenLike.MatchString(s) }

// errDamaged is the error for most tokens that cannot be parsed.
var errDamaged = errors.New("the token is damaged; copy all of it")

// FromToken returns the scenario in a token, with its single run. Its title says what it expects, and it has neither prose nor a
// timeline.
func FromToken(token string) (*Scenario, error) {
	text, ok := strings.CutPrefix(token, tokenForm)
	switch {
	case !ok && IsToken(token):
		form, _, _ := strings.Cut(token, ".")
		return nil, fmt.Errorf("the token has version %s, but this program reads version %s; use the program that printed it", strings.TrimPrefix(form, "lk"), strings.Trim(tokenForm, "lk."))
	case !ok:
		return nil, fmt.Errorf("not a token; a token begins with %s", tokenForm)
	case len(token) > longestToken:
		return nil, fmt.Errorf("a token has at most %d characters, but this one has %d", longestToken, len(token))
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(data) < crc32.Size {
		return nil, errDamaged
	}
	packed, sum := data[:len(data)-crc32.Size], binary.BigEndian.Uint32(data[len(data)-crc32.Size:])
	page, err := io.ReadAll(io.LimitReader(flate.NewReaderDict(bytes.NewReader(packed), []byte(tokenWords)), longestPage+1))
	if err != nil || len(page) > longestPage || crc32.ChecksumIEEE(page) != sum {
		return nil, errDamaged
	}
	s, err := Parse("replay.txtar", append([]byte(tokenTitle), page...))
	if err != nil {
		return nil, fmt.Errorf("this program cannot read the scenario in the token: %w", err)
	}
	if len(s.Runs) != 1 {
		return nil, fmt.Errorf("the scenario in the token has %d runs; it must have one", len(s.Runs))
	}
	s.Title = Headline(s)
	return s.Checked()
}
