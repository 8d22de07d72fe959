//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// targets are what probes try to reach, as those who know tell them.
type targets struct {
	Outside  string // a folder that anybody may read and write, with a file named secret
	TCP, UDP string // addresses at which somebody listens
	Socket   string // a Unix socket at which somebody listens, outside
	Abstract string // an abstract one
	Victim   int    // a process of the same user
	Self     string // the path of this binary
	Only     []string
}

// probe tries to get out in one way. It returns nil if it could.
type probe struct {
	name string
	// try tries, with the workspace as the working directory.
	try func(targets) error
	// seen marks what level B does not keep in.
	seen bool
	// network marks what the machine's network is for.
	network bool
}

var probes = []probe{
	{name: "write outside", try: func(t targets) error { return os.WriteFile(t.Outside+"/new", nil, 0o600) }},
	{name: "change a file outside", try: func(t targets) error { return os.WriteFile(t.Outside+"/secret", []byte("changed"), 0o600) }},
	{name: "truncate outside", try: func(t targets) error { return os.Truncate(t.Outside+"/secret", 0) }},
	{name: "delete outside", try: func(t targets) error { return os.Remove(t.Outside + "/victim") }},
	{name: "read outside", try: func(t targets) error { _, err := os.ReadFile(t.Outside + "/secret"); return err }},
	{name: "list outside", try: func(t targets) error { _, err := os.ReadDir(t.Outside); return err }},
	{name: "stat outside", seen: true, try: func(t targets) error { _, err := os.Stat(t.Outside + "/secret"); return err }},
	{name: "chmod outside", try: func(t targets) error { return os.Chmod(t.Outside+"/secret", 0o640) }},
	{name: "chown outside", try: func(t targets) error { return os.Chown(t.Outside+"/secret", os.Getuid(), os.Getgid()) }},
	{name: "set times outside", try: func(t targets) error { return os.Chtimes(t.Outside+"/secret", time.Unix(1, 0), time.Unix(1, 0)) }},
	{name: "hard link from outside", try: func(t targets) error { return os.Link(t.Outside+"/secret", "linked") }},
	{name: "rename from outside", try: func(t targets) error { return os.Rename(t.Outside+"/moved", "moved") }},
	{name: "read through a link", try: func(t targets) error {
		_ = os.Remove("link")
		if err := os.Symlink(t.Outside+"/secret", "link"); err != nil {
			return err
		}
		_, err := os.ReadFile("link")
		return err
	}},
	{name: "connect by TCP", network: true, try: func(t targets) error { return dial("tcp", t.TCP) }},
	{name: "listen by TCP", try: func(targets) error { return listen("127.0.0.1:0") }},
	{name: "send by UDP", network: true, try: func(t targets) error { return dial("udp", t.UDP) }},
	{name: "unix socket", try: func(t targets) error { return dial("unix", t.Socket) }},
	{name: "abstract unix socket", try: func(t targets) error { return dial("unix", t.Abstract) }},
	{name: "datagram out of a socket pair", try: datagram},
	{name: "netlink socket", try: func(targets) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW) }},
	{name: "raw socket", try: func(targets) error { return socket(unix.AF_PACKET, unix.SOCK_RAW) }},
	{name: "raw internet socket", try: func(targets) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}},
	{name: "vsock", try: func(targets) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM) }},
	{name: "signal to a process", try: func(t targets) error { return withVictim(t, func() error { return unix.Kill(t.Victim, 0) }) }},
	{name: "ptrace", try: func(t targets) error { return withVictim(t, func() error { return seize(t.Victim) }) }},
	{name: "read a process's memory", try: func(t targets) error { return withVictim(t, func() error { return readMemory(t.Victim) }) }},
	{name: "limit another process", try: func(t targets) error {
		return withVictim(t, func() error { return unix.Prlimit(t.Victim, unix.RLIMIT_CORE, nil, &unix.Rlimit{}) })
	}},
	{name: "environment of the victim", try: func(t targets) error {
		return withVictim(t, func() error { return readSome(fmt.Sprintf("/proc/%d/environ", t.Victim)) })
	}},
	{name: "environment of the parent", try: func(targets) error { return readSome(fmt.Sprintf("/proc/%d/environ", os.Getppid())) }},
	{name: "environment of the first process", try: func(targets) error { return readSome("/proc/1/environ") }},
	{name: "lower oom_score_adj", try: func(targets) error { return os.WriteFile("/proc/self/oom_score_adj", []byte("0"), 0o600) }},
	{name: "new user namespace", try: func(t targets) error {
		cmd := exec.Command(t.Self, idleArg) // this very program
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return cmd.Run()
	}},
	{name: "io_uring", try: func(targets) error {
		var params [120]byte
		fd, _, e := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
		return closed(int(fd), e) // a descriptor
	}},
	{name: "mount", try: func(targets) error {
		fd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}},
	{name: "keyring", try: func(targets) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
		return err
	}},
	{name: "file handle", try: func(targets) error { _, _, err := unix.NameToHandleAt(unix.AT_FDCWD, ".", 0); return err }},
	{name: "program that runs as its owner", try: func(targets) error {
		return errors.Join(os.WriteFile("owned", nil, 0o600), os.Chmod("owned", 0o700|os.ModeSetuid))
	}},
	{name: "file that is created to run as its owner", try: func(targets) error {
		fd, err := unix.Open("created", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, unix.S_ISUID|0o700)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}},
	{name: "call of a future kernel", try: func(targets) error {
		if _, _, e := unix.Syscall(lastCall+1, 0, 0, 0); e != unix.ENOSYS {
			return nil
		}
		return unix.ENOSYS
	}},
}

func dial(network, address string) error {
	conn, err := net.Dial(network, address) //nolint:noctx // of this machine
	if err != nil {
		return err
	}
	if network == "udp" {
		_, err = conn.Write([]byte("x"))
	}
	return errors.Join(err, conn.Close())
}

func listen(address string) error {
	l, err := net.Listen("tcp", address) //nolint:noctx // of this machine
	if err != nil {
		return err
	}
	return l.Close()
}

func socket(family, kind int) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// datagram sends to a socket outside out of one that was never opened as such. That it
// is of the wrong kind for it is an answer of the socket outside: it was reached.
func datagram(t targets) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _, _ = unix.Close(pair[0]), unix.Close(pair[1]) }()
	err = unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: t.Socket})
	if errors.Is(err, unix.EPROTOTYPE) {
		return nil
	}
	return err
}

func closed(fd int, e unix.Errno) error {
	if e != 0 {
		return e
	}
	return unix.Close(fd)
}

// withVictim does f unless the number of the victim is, in here, that of a thread of
// this process or of its parent, which is the helper.
func withVictim(t targets, f func() error) error {
	for _, pid := range []int{os.Getpid(), os.Getppid()} {
		if pid != t.Victim && unix.Tgkill(pid, t.Victim, 0) == nil {
			return errors.New("the number is that of a thread in here")
		}
	}
	if t.Victim == os.Getpid() || t.Victim == os.Getppid() {
		return errors.New("the number is that of this process in here")
	}
	return f()
}

func seize(pid int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0); e != 0 { // a process
		return e
	}
	// Only what is stopped can be let go; what traces it ends with this process.
	return nil
}

func readMemory(pid int) error {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/maps")
	if err == nil {
		defer func() { _ = f.Close() }()
		var from uint64
		if _, err = fmt.Fscanf(f, "%x-", &from); err == nil {
			buf := make([]byte, 1)
			_, err = unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &buf[0], Len: 1}}, []unix.RemoteIovec{{Base: uintptr(from), Len: 1}}, 0)
		}
	}
	return err
}

// readSome reports whether a file can be read and has something in it.
func readSome(name string) error {
	b, err := os.ReadFile(name)
	if err == nil && len(b) == 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// outcome is what came of one probe; nil Err: it got out.
type outcome struct {
	Name string
	Err  string
}

// probeMain does the probes that its input asks for, in a process of its own.
func probeMain(in io.Reader, out io.Writer) int {
	var t targets
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return 2
	}
	wanted := map[string]bool{}
	for _, name := range t.Only {
		wanted[name] = true
	}
	var got []outcome
	for _, p := range probes {
		if len(wanted) > 0 && !wanted[p.name] {
			continue
		}
		o := outcome{Name: p.name}
		if err := p.try(t); err != nil {
			o.Err = err.Error()
		}
		got = append(got, o)
	}
	if json.NewEncoder(out).Encode(got) != nil {
		return 2
	}
	return 0
}

// stage is what probes are to reach, set up by the gateway.
type stage struct {
	targets

	workspace string
	closers   []func() error
}

// setStage makes all of it in dir, which must be outside of every workspace, and
// workspace, which need not be.
func setStage(dir string) (s *stage, err error) {
	s = &stage{workspace: filepath.Join(dir, "workspace")}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	s.Outside = filepath.Join(dir, "outside")
	// Anybody may do anything there, so that it is the walls that stop a probe.
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(s.workspace, 0o700), os.Mkdir(s.Outside, 0o700), os.Chmod(s.Outside, 0o777)); err != nil { // as said
		return s, err
	}
	for _, name := range []string{"secret", "moved", "victim"} {
		if err := errors.Join(os.WriteFile(filepath.Join(s.Outside, name), []byte("outside"), 0o600), os.Chmod(filepath.Join(s.Outside, name), 0o666)); err != nil { // as said
			return s, err
		}
	}
	if s.Self, err = os.Executable(); err != nil {
		return s, err
	}
	s.Socket = filepath.Join(dir, "outside", "socket")
	s.Abstract = fmt.Sprintf("@parley-sandbox-%d-%d", os.Getpid(), time.Now().UnixNano())
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": s.Socket, "abstract": s.Abstract} {
		kind := network
		if kind == "abstract" {
			kind = "unix"
		}
		l, err := net.Listen(kind, address) //nolint:noctx // of this machine
		if err != nil {
			return s, err
		}
		s.closers = append(s.closers, l.Close)
		if network == "tcp" {
			s.TCP = l.Addr().String()
		}
	}
	if err := os.Chmod(s.Socket, 0o777); err != nil { // as said
		return s, err
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0") //nolint:noctx // of this machine
	if err != nil {
		return s, err
	}
	s.closers = append(s.closers, udp.Close)
	s.UDP = udp.LocalAddr().String()
	s.Victim = os.Getpid()
	return s, nil
}

func (s *stage) close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c())
	}
	s.closers = nil
	return errors.Join(errs...)
}
