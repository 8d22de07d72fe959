//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// launcher starts a helper in new namespaces and waits for it. It stands between for two
// reasons: an ordinary user's process that nobody may look into, as the gateway is, may
// not say either who its children are in a new user namespace; and starting a process in
// one copies the tables of the starter's memory, which is small here.
//
// args are those of a launch. It runs on the main thread, with which the helper dies. It
// returns the exit status.
func launcher(args []string) int {
	l, err := parseLaunch(args)
	if err != nil {
		return 2
	}
	cmd := exec.Command("/proc/self/exe", helperArg) //nolint:noctx // this very program; its input ends it
	cmd.Dir, cmd.Env = "/", os.Environ()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	for fd := range l.descriptors {
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(specFD+fd), "inherited"))
	}
	cmd.SysProcAttr = l.newNamespaces()
	if err := cmd.Start(); err != nil {
		rep := report{Failed: err.Error()}
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			rep.Errno = int(errno)
		}
		if rep.write(cmd.ExtraFiles[reportFD-specFD]) != nil {
			return 2
		}
		return 0
	}
	// The helper alone holds what its input, outputs and report end with.
	for _, f := range append(cmd.ExtraFiles, os.Stdin, os.Stdout, os.Stderr) {
		_ = f.Close()
	}
	if err := cmd.Wait(); err != nil {
		return 1
	}
	return 0
}

// launch is what a launcher is to start.
type launch struct {
	uid, gid    int  // of the helper, outside
	others      bool // they are not the gateway's
	network     bool // the helper keeps the machine's
	outlet      bool // the helper raises the loopback of its own
	descriptors int  // that the helper gets, from 3 on
}

// args returns l as the arguments of a launcher.
func (l launch) args() []string {
	args := []string{launcherArg}
	for _, n := range []int{l.uid, l.gid, number(l.others), number(l.network), number(l.outlet), l.descriptors} {
		args = append(args, strconv.Itoa(n))
	}
	return args
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// parseLaunch reads what args returns, behind its first.
func parseLaunch(args []string) (launch, error) {
	var n [6]int
	if len(args) != len(n) {
		return launch{}, errors.New("arguments of another version of this program")
	}
	for i, arg := range args {
		var err error
		if n[i], err = strconv.Atoi(arg); err != nil {
			return launch{}, err
		}
	}
	return launch{n[0], n[1], n[2] != 0, n[3] != 0, n[4] != 0, n[5]}, nil
}

// newNamespaces are the attributes of the helper.
func (l launch) newNamespaces() *syscall.SysProcAttr {
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS)
	if !l.network {
		flags |= unix.CLONE_NEWNET
	}
	// Rights inside the new namespaces, which outlive the start of the helper this way only.
	rights := []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
	if l.outlet {
		rights = append(rights, unix.CAP_NET_ADMIN)
	}
	return &syscall.SysProcAttr{
		Setsid:      true,
		Pdeathsig:   syscall.SIGKILL,
		Cloneflags:  flags,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: insideID, HostID: l.uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: insideID, HostID: l.gid, Size: 1}},
		// Root's other groups go; an ordinary user cannot let go of any.
		GidMappingsEnableSetgroups: l.others,
		Credential:                 &syscall.Credential{Uid: insideID, Gid: insideID, NoSetGroups: !l.others},
		AmbientCaps:                rights,
	}
}
