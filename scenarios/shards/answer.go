package shards

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"

	"lockstep/scenarios/play"
	"lockstep/sim/workers"
)

// A key identifies a job.
type key = [32]byte

// An answer is one line of the file of answers: the outcome of a job, as a gob that is compressed.
type answer struct {
	Job     string `json:"job"`
	Outcome []byte `json:"outcome"`
	// Sum is the CRC-32C of the rest. The manifest has a checksum of the file only when the shard is complete, and neither the compression nor
	// the gob has one: a damaged outcome may be another outcome.
	Sum uint32 `json:"crc32c"`
}

// sum returns what Sum must be.
func (a *answer) sum() uint32 {
	return crc32.Update(crc32.Checksum([]byte(a.Job), castagnoli), castagnoli, a.Outcome)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged is the error for a line that is not as it was written.
var errDamaged = errors.New("the file is damaged")

// mostAnswer is the greatest length of a line in bytes. A job on its own has at most a few megabytes.
const mostAnswer = 256 << 20

// packers keeps writers, each of which takes a megabyte of memory.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // there is no such level
	}
	return w
}}

// encode returns the line of an outcome.
func encode(k key, o workers.Outcome) ([]byte, error) {
	var packed bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&packed)
	if err := gob.NewEncoder(w).Encode(&o); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	a := answer{Job: hex.EncodeToString(k[:]), Outcome: packed.Bytes()}
	a.Sum = a.sum()
	line, err := json.Marshal(a)
	return append(line, '\n'), err
}

// decode returns the outcome in a line, of at most so many bytes.
func decode(line []byte, most int64) (o workers.Outcome, err error) {
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return o, err
	}
	unpacked := &io.LimitedReader{R: flate.NewReader(bytes.NewReader(a.Outcome)), N: most}
	err = gob.NewDecoder(unpacked).Decode(&o)
	if err != nil && unpacked.N == 0 {
		err = fmt.Errorf("it must unpack to less than %d bytes", most)
	}
	return o, err
}

// A place is where the line of an answer is.
type place struct {
	file   int
	offset int64
	length int
}

// scan calls each with the lines of a file that are whole, and returns how many bytes they have. A line that is no answer is an error, which is
// errDamaged.
func scan(f *os.File, each func(k key, at int64, line []byte) error) (whole int64, err error) {
	r := bufio.NewReaderSize(f, 1<<16)
	for n := 1; ; n++ {
		line, err := readLine(r)
		switch {
		case errors.Is(err, io.EOF):
			return whole, nil
		case err != nil:
			return whole, fmt.Errorf("%s:%d: %w", f.Name(), n, err)
		}
		var a answer
		var k key
		if err := json.Unmarshal(line, &a); err != nil {
			return whole, fmt.Errorf("%s:%d: %w: this must be an answer, as --shard writes it: %w", f.Name(), n, errDamaged, err)
		}
		if sum := a.sum(); sum != a.Sum {
			return whole, fmt.Errorf("%s:%d: %w: this answer must have the checksum %08x, and has %08x", f.Name(), n, errDamaged, a.Sum, sum)
		}
		if b, err := hex.DecodeString(a.Job); err != nil || copy(k[:], b) != len(k) {
			return whole, fmt.Errorf("%s:%d: %w: the job must have %d hexadecimal digits", f.Name(), n, errDamaged, 2*len(k))
		}
		if err := each(k, whole, line); err != nil {
			return whole, err
		}
		whole += int64(len(line))
	}
}

// readLine reads a line with its end; one without it is an [io.EOF].
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > mostAnswer:
			return nil, fmt.Errorf("this line must have at most %d bytes", mostAnswer)
		}
	}
}

// keyOf identifies a job.
func keyOf(job json.RawMessage) (key, error) { return play.JobKey(job) }
