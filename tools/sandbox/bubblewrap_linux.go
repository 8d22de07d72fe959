//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// With bubblewrap, a run has one process more, which stays until the helper has ended:
//
//	gateway ── launcher ── bwrap ── helper ── program
//	                       builds namespaces and mounts
//	                                builds all other walls, waits, reports
//
// The helper is the first process of its namespace, as it is without bubblewrap: with it the
// kernel ends all that the program has started. It has no rights there, and needs none.

// Descriptors of the helper, behind those of every helper.
const (
	errorsFD = 5 // what the program writes errors to; bwrap writes its own to its launcher
	selfFD   = 6 // this very program, of which no file is in sight
	filesFD  = 7 // the first of the files that are written for a program
)

// findBubblewrap looks for a machine on which bwrap makes the namespaces: where it has a right
// to that this process has not. It takes level if the walls hold.
func (s *Sandbox) findBubblewrap(ctx context.Context, level Level, landlock int) (bool, error) {
	asked := s.config.Backend == BackendBubblewrap
	if s.system.asRoot() {
		// It would need root's rights, with which no program may be started; whoever has them can
		// make namespaces without it.
		if asked {
			s.reasons = append(s.reasons, "bubblewrap is for a gateway that does not run as root: run it as an ordinary user")
		}
		return false, nil
	}
	path, err := exec.LookPath("bwrap")
	if err != nil {
		s.reasons = append(s.reasons, "bubblewrap, which may be allowed to make namespaces, is not installed")
		return false, nil //nolint:nilerr // it is a reason
	}
	info, err := os.Stat(path)
	if err != nil {
		return false, fmt.Errorf("look at bubblewrap: %w", err)
	}
	w := walls{Namespaces: true, Proc: true, Built: true, Users: true, Landlock: landlock, Seccomp: true}
	attempts := []walls{w}
	if info.Mode()&fs.ModeSetuid != 0 {
		// With the rights of root it limits no folder in memory; and it serves where there are no
		// namespaces of users at all.
		w.OnDisk, attempts[0].OnDisk = true, true
		w.Users = false
		attempts = append(attempts, w)
	}
	s.system.bubblewrap = path
	before := len(s.reasons)
	for _, w := range attempts {
		ok, err := s.try(ctx, level, w)
		if ok {
			s.backend = BackendBubblewrap
			if w.OnDisk {
				s.reasons = append(s.reasons[:before], "bubblewrap has root's rights here, and lets no folder in memory have a limit: the temporary files of programs are on disk, without one")
			}
			return true, nil
		}
		if errors.Is(err, ErrEscaped) && !asked {
			// Nothing runs in these walls, and there may be others.
			s.reasons = append(s.reasons, fmt.Sprintf("bubblewrap is not used: %v", err))
			err = nil
		}
		if err != nil {
			return false, err
		}
	}
	s.system.bubblewrap = ""
	return false, nil
}

// takeBubblewrap decides how bwrap is started for job, and with which descriptors.
func (sys *system) takeBubblewrap(r *running, job *spec) error {
	if job.Walls.OnDisk {
		var err error
		if job.Private, err = r.makePrivate(); err != nil {
			return err
		}
		for _, name := range []string{"tmp", "shm"} {
			if err := os.Mkdir(filepath.Join(job.Private, name), 0o700); err != nil {
				return err
			}
		}
	}
	if !job.Walls.Users {
		// All of the user's count, not only those of this run.
		n, err := countTasks(sys.uid)
		if err != nil {
			return err
		}
		job.Processes += n
	}
	files, err := (&run{spec: *job}).systemFiles()
	if err != nil {
		return err
	}
	if !job.Walls.Users {
		own := fmt.Sprintf("%s:x:%d:%d:", insideUser, sys.uid, sys.gid)
		files["etc/passwd"] = strings.Replace(files["etc/passwd"], fmt.Sprintf("%s:x:%d:%d:", insideUser, insideID, insideID), own, 1)
	}
	var names []string
	for name := range files {
		f, err := inMemory(name, files[name])
		if err != nil {
			return err
		}
		names, r.child = append(names, name), append(r.child, f)
	}
	r.bubblewrap = append([]string{sys.bubblewrap}, bubblewrapArgs(job, names)...)
	return nil
}

// inMemory makes a file that is in no folder.
func inMemory(name, text string) (*os.File, error) {
	fd, err := unix.MemfdCreate(filepath.Base(name), unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.WriteString(text); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// The descriptor is shared with bwrap, and so is its place in the file.
	if _, err := f.Seek(0, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// bubblewrapArgs are the arguments by which bwrap builds for job what buildRoot does, and
// starts the helper. The files are those that are written for the program.
func bubblewrapArgs(job *spec, files []string) []string {
	args := []string{
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", insideHost,
		"--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL",
	}
	add := func(more ...string) { args = append(args, more...) }
	if job.Walls.Users {
		add("--unshare-user", "--uid", strconv.Itoa(insideID), "--gid", strconv.Itoa(insideID))
	}
	if !job.Network {
		add("--unshare-net")
	}
	folder := func(path, mode string) { add("--perms", mode, "--dir", path) }
	folder("/etc", "0755")
	folder("/dev", "0755")
	for _, dir := range systemFolders {
		if to, err := os.Readlink(dir); err == nil { // to a folder in /usr
			add("--symlink", to, dir)
			continue
		}
		add("--ro-bind-try", dir, dir)
	}
	for _, name := range settingFiles {
		path := filepath.Join("/etc", name)
		add("--ro-bind-try", path, path)
	}
	for _, name := range devices {
		path := filepath.Join("/dev", name)
		add("--dev-bind-try", path, path)
	}
	for _, path := range []string{"/tmp", "/dev/shm"} {
		if job.Walls.OnDisk {
			add("--bind", filepath.Join(job.Private, filepath.Base(path)), path)
			continue
		}
		add("--perms", "1777", "--size", strconv.FormatInt(job.Scratch, 10), "--tmpfs", path)
	}
	folder(insideHome, "0700")
	add("--proc", "/proc", "--remount-ro", "/proc", "--bind", job.Workspace.Path, Workspace)
	for _, src := range wanted(job.ReadOnly) {
		add("--ro-bind", src.Path, src.Path)
	}
	for i, name := range files {
		add("--perms", "0644", "--file", strconv.Itoa(filesFD+i), "/"+name)
	}
	add("--remount-ro", "/", "--chdir", "/", "--", fmt.Sprintf("/proc/self/fd/%d", selfFD), helperArg)
	return args
}

// bubblewrapLauncher starts bwrap, which starts the helper, and waits for it. It stands
// between because bwrap is to end with who has started it, and threads of the gateway end
// at any time.
//
// args are how many descriptors it has from 3 on, the path of bwrap, and what bwrap is to do.
// It runs on the main thread. It returns the exit status.
func bubblewrapLauncher(args []string) int {
	if len(args) < 2 {
		return 2
	}
	descriptors, err := strconv.Atoi(args[0])
	if err != nil {
		return 2
	}
	var inherited []*os.File
	for i := range descriptors {
		inherited = append(inherited, os.NewFile(uintptr(specFD+i), "inherited"))
	}
	report, err := startBubblewrap(args[1:], inherited)
	if err != nil {
		return 1
	}
	if report == nil {
		return 0
	}
	if report.write(inherited[reportFD-specFD]) != nil {
		return 2
	}
	return 0
}

// startBubblewrap starts bwrap and waits for it. It returns a report if bwrap says why it
// started no helper; all other reports are the helper's.
func startBubblewrap(args []string, inherited []*os.File) (*report, error) {
	// When memory ends, all of this ends first. The helper cannot say so: its /proc cannot be
	// written.
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600); err != nil {
		return &report{Failed: fmt.Sprintf("have the kernel end this first: %v", err)}, nil
	}
	self, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &report{Failed: fmt.Sprintf("open this program: %v", err)}, nil
	}
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // the helper's input ends it
	cmd.Dir, cmd.Env = "/", os.Environ()
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.ExtraFiles = slices.Concat(inherited[:2], []*os.File{os.Stderr, os.NewFile(uintptr(self), "self")}, inherited[2:])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return &report{Failed: fmt.Sprintf("start bubblewrap: %v", err)}, nil
	}
	// Of what the run ends with, this process keeps where to report alone.
	for _, f := range append(cmd.ExtraFiles, os.Stdin, os.Stdout) {
		if f != inherited[reportFD-specFD] {
			_ = f.Close()
		}
	}
	err = cmd.Wait()
	if text := bytes.TrimSpace(said.Bytes()); err != nil && len(text) > 0 {
		return &report{Failed: string(text)}, nil
	}
	return nil, err
}

// enterBuilt makes of a helper that bwrap has started what every helper is.
func enterBuilt() error {
	if os.Getpid() != 1 {
		return errors.New("bubblewrap has made no process namespace that ends with the helper")
	}
	return nil
}
