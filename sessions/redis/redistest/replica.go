package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Replica runs another server that replicates s, and returns when it has all of
// it. Replication is asynchronous.
func (s *Server) Replica(t testing.TB) *Server {
	t.Helper()
	r := &Server{t: t, o: s.o, dir: t.TempDir(), host: ownHost(), leader: s}
	t.Cleanup(r.Kill)
	r.begin()
	r.URL = "redis://" + userinfo(r.o.Password) + r.Addr() + "/0"
	r.CatchUp()
	return r
}

// CatchUp waits until a replica has everything that its primary has written by
// now.
func (s *Server) CatchUp() {
	s.t.Helper()
	primary := s.leader
	s.until("replicate", func() bool {
		mine, theirs := s.info(), primary.info()
		return mine["master_link_status"] == "up" && mine["master_repl_offset"] == theirs["master_repl_offset"]
	})
}

// CutOff ends a replica's replication where it is: what the primary writes from
// now on it will not have. It serves what it has, and is no primary yet.
func (s *Server) CutOff() {
	s.t.Helper()
	// Nobody listens on the port 1, and a replica keeps what it has until another
	// primary sends it something else.
	s.do("REPLICAOF", s.host, "1")
	s.until("cut off", func() bool { return s.info()["master_link_status"] == "down" })
}

// Promote makes a replica a primary.
func (s *Server) Promote() {
	s.t.Helper()
	s.do("REPLICAOF", "NO", "ONE")
	s.leader = nil
	s.until("promote", func() bool { return s.info()["role"] == "master" })
}

// Follow makes s a replica of primary, whose data take the place of its own.
func (s *Server) Follow(primary *Server) {
	s.t.Helper()
	s.do("REPLICAOF", primary.host, strconv.Itoa(primary.port))
	s.leader = primary
	s.CatchUp()
}

func (s *Server) until(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			s.t.Fatalf("%s: it takes too long:\n%s", what, s.Log())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// info is INFO replication.
func (s *Server) info() map[string]string {
	m := map[string]string{}
	answer, err := s.ask("INFO", "replication")
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(answer)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[k] = v
		}
	}
	return m
}

// do sends one command, which must be answered without an error.
func (s *Server) do(args ...string) {
	s.t.Helper()
	answer, err := s.ask(args...)
	if err == nil && bytes.HasPrefix(answer, []byte("-")) {
		err = fmt.Errorf("%s", answer)
	}
	if err != nil {
		s.t.Fatalf("%s: %v", args[0], err)
	}
}

// Do sends one command and returns the raw answer.
func (s *Server) Do(args ...string) string {
	s.t.Helper()
	answer, err := s.ask(args...)
	if err != nil {
		s.t.Fatalf("%s: %v", args[0], err)
	}
	return string(answer)
}

// ScriptCalls returns how often clients have had a script run by its hash.
func (s *Server) ScriptCalls() int {
	s.t.Helper()
	for line := range strings.Lines(s.Do("INFO", "commandstats")) {
		if counts, ok := strings.CutPrefix(line, "cmdstat_evalsha:calls="); ok {
			digits, _, _ := strings.Cut(counts, ",")
			n, err := strconv.Atoi(digits)
			if err != nil {
				s.t.Fatal(err)
			}
			return n
		}
	}
	return 0 // none was
}

// ask sends one command on a connection of its own. An answer is a line, or a
// bulk of text with it.
func (s *Server) ask(args ...string) ([]byte, error) {
	conn, err := net.DialTimeout("tcp", s.Addr(), patience) //nolint:noctx // it ends by itself
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // the answer was read
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	if s.o.Password != "" {
		if _, err := exchange(conn, r, "AUTH", s.o.Password); err != nil {
			return nil, err
		}
	}
	return exchange(conn, r, args...)
}

func exchange(w io.Writer, r *bufio.Reader, args ...string) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return nil, err
	}
	line, err := r.ReadBytes('\n')
	if err != nil || line[0] != '$' {
		return line, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(line[1:])))
	if err != nil || n < 0 {
		return nil, err
	}
	body := make([]byte, n)
	_, err = io.ReadFull(r, body)
	return body, err
}

// manifest names the files that the append-only file is made of.
func (s *Server) manifest() string {
	return filepath.Join(s.dir, "appendonlydir", "appendonly.aof.manifest")
}

// repair cuts an unfinished write off the append-only file.
func (s *Server) repair() error {
	if _, err := os.Stat(s.manifest()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	cmd := exec.Command("redis-check-aof", "--fix", s.manifest()) //nolint:noctx // our own file; it ends by itself
	cmd.Stdin = strings.NewReader("y\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("repair the append-only file: %w:\n%s", err, out)
	}
	return nil
}

// Cut takes the last bytes off the append-only file of a server that was killed,
// as if the kill had come in the middle of a write.
func (s *Server) Cut(bytes int64) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(s.manifest()), "*.incr.aof"))
	if err != nil || len(files) == 0 {
		s.t.Fatalf("no append-only file: %v", err)
	}
	last := files[0]
	for _, f := range files {
		if len(f) > len(last) || len(f) == len(last) && f > last { // …9.incr.aof, …10.incr.aof
			last = f
		}
	}
	st, err := os.Stat(last)
	if err == nil {
		err = os.Truncate(last, st.Size()-bytes)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}
