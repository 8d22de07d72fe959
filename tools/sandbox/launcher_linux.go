//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
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
// args are the numbers of the user, the group, whether they are others than the
// gateway's, and how many descriptors the helper gets from 3 on. It runs on the main
// thread, with which the helper dies. It returns the exit status.
func launcher(args []string) int {
	var n [4]int
	if len(args) != len(n) {
		return 2
	}
	for i, arg := range args {
		var err error
		if n[i], err = strconv.Atoi(arg); err != nil {
			return 2
		}
	}
	cmd := exec.Command("/proc/self/exe", helperArg) //nolint:gosec,noctx // this very program; its input ends it
	cmd.Dir, cmd.Env = "/", os.Environ()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	for fd := range n[3] {
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(specFD+fd), "inherited"))
	}
	cmd.SysProcAttr = newNamespaces(n[0], n[1], n[2] != 0)
	if err := cmd.Start(); err != nil {
		rep := report{Failed: err.Error()}
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			rep.Errno = int(errno)
		}
		if json.NewEncoder(cmd.ExtraFiles[reportFD-specFD]).Encode(rep) != nil {
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

// newNamespaces are the attributes of a helper that runs as a user and group outside;
// others says that they are not the gateway's.
func newNamespaces(uid, gid int, others bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setsid:      true,
		Pdeathsig:   syscall.SIGKILL,
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: insideID, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: insideID, HostID: gid, Size: 1}},
		// Root's other groups go; an ordinary user cannot let go of any.
		GidMappingsEnableSetgroups: others,
		Credential:                 &syscall.Credential{Uid: insideID, Gid: insideID, NoSetGroups: !others},
		// Rights inside the new namespaces, which outlive the start of the helper this way only.
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP},
	}
}
