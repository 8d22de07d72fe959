//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// dropBounds takes from this thread what a program might gain by being executed.
func dropBounds() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop ambient capabilities: %w", err)
	}
	for c := uintptr(0); ; c++ {
		held, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil {
			return nil //nolint:nilerr // the kernel knows no more of them
		}
		if held == 0 {
			continue // who has no rights may not drop it again
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
}

// dropRights takes all capabilities from this thread.
func dropRights() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&hdr, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// handled are the rights that each version of Landlock knows.
var handled = []landlock.Config{
	1: landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6,
	landlock.V7, landlock.V8, landlock.V9, landlock.V10, landlock.V11,
}

// landlockVersion returns the newest version that both the kernel and this program
// know; 0 if there is no Landlock.
func landlockVersion() int {
	version, err := llsys.LandlockGetABIVersion()
	if err != nil || version < 1 {
		return 0
	}
	return min(version, len(handled)-1)
}

// Rights of rules. What the version in use does not know is left out of a rule, which
// grants less; what is handled, and so refused elsewhere, is all that it knows.
const (
	mayRead   = llsys.AccessFSExecute | llsys.AccessFSReadFile | llsys.AccessFSReadDir
	mayChange = llsys.AccessFSWriteFile | llsys.AccessFSTruncate | llsys.AccessFSRemoveDir | llsys.AccessFSRemoveFile |
		llsys.AccessFSMakeDir | llsys.AccessFSMakeReg | llsys.AccessFSMakeSock | llsys.AccessFSMakeFifo |
		llsys.AccessFSMakeSym | llsys.AccessFSRefer
	mayUse = llsys.AccessFSWriteFile | llsys.AccessFSReadFile | llsys.AccessFSIoctlDev
	ofFile = llsys.AccessFSExecute | llsys.AccessFSWriteFile | llsys.AccessFSReadFile | llsys.AccessFSTruncate | llsys.AccessFSIoctlDev
)

// restrictFiles refuses this thread, and what it starts, all files but those named here,
// all ports, and signals to and sockets of others, as far as the version of Landlock
// that was found can. Anything that this version should be able to do and cannot is an
// error.
func (r *run) restrictFiles() error {
	if r.Walls.Landlock >= len(handled) {
		return fmt.Errorf("landlock: version %d is unknown here", r.Walls.Landlock)
	}
	c := handled[r.Walls.Landlock]
	attr := llsys.RulesetAttr{HandledAccessFS: uint64(c.HandledAccessFS), HandledAccessNet: uint64(c.HandledAccessNet), Scoped: uint64(c.Scoped)}
	if r.Network {
		attr.HandledAccessNet = 0
	}
	rules, err := llsys.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return fmt.Errorf("landlock: make a ruleset: %w", err)
	}
	defer func() { _ = unix.Close(rules) }()
	for _, g := range r.grants() {
		if err := grant(rules, g, attr.HandledAccessFS); err != nil {
			return err
		}
	}
	if r.hasProxy() && attr.HandledAccessNet != 0 {
		if err := grantProxy(rules); err != nil {
			return err
		}
	}
	if err := llsys.LandlockRestrictSelf(rules, 0); err != nil {
		return fmt.Errorf("landlock: restrict: %w", err)
	}
	return nil
}

// allowance is what a program may do at and below a path.
type allowance struct {
	path     string
	rights   uint64
	optional bool // it may be missing
}

// grants are all allowances.
func (r *run) grants() []allowance {
	var as []allowance
	if r.Walls.Namespaces {
		as = append(as, allowance{path: "/", rights: mayRead})
		for _, dir := range []string{Workspace, "/tmp", "/dev/shm"} {
			as = append(as, allowance{path: dir, rights: mayRead | mayChange})
		}
	} else {
		for _, dir := range systemFolders {
			as = append(as, allowance{dir, mayRead, true})
		}
		for _, name := range append(settingFiles, "passwd", "group", "nsswitch.conf", "hosts") {
			as = append(as, allowance{filepath.Join("/etc", name), mayRead, true})
		}
		if r.Network {
			as = append(as, allowance{resolverFile, mayRead, true})
		}
		for _, src := range r.ReadOnly {
			as = append(as, allowance{path: src.Path, rights: mayRead})
		}
		as = append(as, allowance{path: r.Workspace.Path, rights: mayRead | mayChange}, allowance{path: r.Private, rights: mayRead | mayChange})
	}
	for _, name := range devices {
		as = append(as, allowance{filepath.Join("/dev", name), mayUse, true})
	}
	return as
}

func grant(rules int, a allowance, known uint64) error {
	fd, err := unix.Open(a.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		if a.optional && os.IsNotExist(err) {
			return nil
		}
		return fmt.Errorf("landlock: %s: %w", a.path, err)
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("landlock: %s: %w", a.path, err)
	}
	rights := a.rights & known
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= ofFile
	}
	if rights == 0 {
		return nil
	}
	if err := llsys.LandlockAddPathBeneathRule(rules, &llsys.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0); err != nil {
		return fmt.Errorf("landlock: %s: %w", a.path, err)
	}
	return nil
}

// underSystem reports whether path is part of what every program has anyway.
func underSystem(path string) bool {
	for _, dir := range systemFolders {
		if below(path, dir) {
			return true
		}
	}
	return strings.HasPrefix(path, "/etc/") && func() bool {
		for _, name := range settingFiles {
			if below(path, "/etc/"+name) {
				return true
			}
		}
		return false
	}()
}
