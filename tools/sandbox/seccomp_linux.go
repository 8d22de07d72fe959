//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A filter is a short program that the kernel runs at each system call. It answers with
// an error, so that programs say what was refused; nothing is killed.

// condition is about one half of an argument of a call.
type condition struct {
	arg  uint32
	test uint16 // unix.BPF_JSET: some bit of value is set; BPF_JEQ: it is value
	not  bool
	val  uint32
}

// upper is added to the number of an argument for its upper half.
const upper = 1 << 8

// refusal is a call that fails with err if all its conditions hold.
type refusal struct {
	nr   uint32
	err  unix.Errno
	when []condition
}

const (
	namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	setIDBits = unix.S_ISUID | unix.S_ISGID
	creates   = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	// lastCall is the highest call that is known to be harmless or is named below. What a
	// newer kernel has beyond does not exist for programs.
	lastCall = unix.SYS_LISTNS
)

// forbidden are calls that no program in a sandbox makes.
var forbidden = []uint32{
	unix.SYS_LISTEN,
	// Looking into other processes.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PROCESS_MRELEASE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	// Large parts of the kernel that hardly a program needs.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_FANOTIFY_INIT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT,
	// Mounts and namespaces.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_MOUNT_SETATTR, unix.SYS_UNSHARE, unix.SYS_SETNS,
	// The machine.
	unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME,
	unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP,
}

// networkCalls are refused too, but to programs that have the machine's network. Two connected
// sockets of this very process are left.
var networkCalls = []uint32{unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_BIND}

// otherSockets are those that a program with the machine's network has no more than any
// other: all but TCP and UDP of the two internet families. It connects by an address, so
// Unix sockets outside stay out of reach.
func otherSockets() []refusal {
	rs := []refusal{
		{unix.SYS_SOCKET, unix.EAFNOSUPPORT, []condition{{0, unix.BPF_JEQ, true, unix.AF_INET}, {0, unix.BPF_JEQ, true, unix.AF_INET6}}},
		{unix.SYS_SOCKET, unix.EPROTONOSUPPORT, []condition{{2, unix.BPF_JEQ, true, 0}, {2, unix.BPF_JEQ, true, unix.IPPROTO_TCP}, {2, unix.BPF_JEQ, true, unix.IPPROTO_UDP}}},
	}
	for _, flags := range []uint32{0, unix.SOCK_CLOEXEC, unix.SOCK_NONBLOCK, unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK} {
		rs = append(rs, refusal{unix.SYS_SOCKET, unix.EPERM, []condition{{1, unix.BPF_JEQ, false, unix.SOCK_RAW | flags}}})
	}
	return rs
}

// absent are calls whose callers know what to do where they are missing. The filter
// cannot see what is behind a pointer, which clone3 and openat2 have their flags in.
var absent = []uint32{
	unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_MEMFD_SECRET,
}

// noSockets are the refusals of a program that has no network.
func noSockets() (rs []refusal) {
	for _, nr := range networkCalls {
		rs = append(rs, refusal{nr: nr, err: unix.EPERM})
	}
	return rs
}

// socketRefusals are those of the program's network: none, the machine's, or a proxy.
func (r *run) socketRefusals() []refusal {
	switch {
	case r.Network:
		return otherSockets()
	case r.hasProxy():
		return otherThanProxy()
	}
	return noSockets()
}

// refusals are all of them for one level; sockets are those of the program's network.
func refusals(w walls, sockets []refusal) []refusal {
	var rs []refusal
	add := func(err unix.Errno, calls ...uint32) {
		for _, nr := range calls {
			rs = append(rs, refusal{nr: nr, err: err})
		}
	}
	add(unix.EPERM, forbidden...)
	rs = append(rs, sockets...)
	add(unix.EPERM, forbiddenHere...)
	add(unix.ENOSYS, absent...)
	rs = append(
		rs,
		refusal{unix.SYS_SOCKETPAIR, unix.EAFNOSUPPORT, []condition{{0, unix.BPF_JEQ, true, unix.AF_UNIX}}},
		// One for datagrams would reach any address, connected or not: SOCK_DGRAM is 2,
		// SOCK_RAW, which is the same, 3; SOCK_STREAM is 1, SOCK_SEQPACKET 5.
		refusal{unix.SYS_SOCKETPAIR, unix.EPERM, []condition{{1, unix.BPF_JSET, false, unix.SOCK_DGRAM}}},
		refusal{unix.SYS_CLONE, unix.EPERM, []condition{{0, unix.BPF_JSET, false, namespaceFlags}}},
		// Typing into a terminal.
		refusal{unix.SYS_IOCTL, unix.EPERM, []condition{{1, unix.BPF_JEQ, false, unix.TIOCSTI}}},
		refusal{unix.SYS_IOCTL, unix.EPERM, []condition{{1, unix.BPF_JEQ, false, unix.TIOCLINUX}}},
		// Programs that run as their owner, who is the gateway's user outside.
		refusal{unix.SYS_FCHMOD, unix.EPERM, []condition{{1, unix.BPF_JSET, false, setIDBits}}},
		refusal{unix.SYS_FCHMODAT, unix.EPERM, []condition{{2, unix.BPF_JSET, false, setIDBits}}},
		refusal{unix.SYS_FCHMODAT2, unix.EPERM, []condition{{2, unix.BPF_JSET, false, setIDBits}}},
		refusal{unix.SYS_MKNODAT, unix.EPERM, []condition{{2, unix.BPF_JSET, false, setIDBits}}},
		refusal{unix.SYS_OPENAT, unix.EPERM, []condition{{2, unix.BPF_JSET, false, creates}, {3, unix.BPF_JSET, false, setIDBits}}},
	)
	rs = append(rs, setIDHere...)
	if w.Namespaces {
		return rs
	}
	// Without namespaces, other processes of the user are in sight: what they share, and
	// what may be set for them. Landlock has no say over a file's mode, owner and times.
	add(unix.EPERM, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGCTL,
		unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_SEMGET, unix.SYS_SEMCTL, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
		unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_SETXATTRAT,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR)
	add(unix.EPERM, byNameHere...)
	for _, nr := range []uint32{unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETAFFINITY, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES} {
		rs = append(rs, refusal{nr, unix.EPERM, []condition{{0, unix.BPF_JEQ, true, 0}}})
	}
	return append(
		rs,
		refusal{unix.SYS_SETPRIORITY, unix.EPERM, []condition{{1, unix.BPF_JEQ, true, 0}}},
		refusal{unix.SYS_IOPRIO_SET, unix.EPERM, []condition{{1, unix.BPF_JEQ, true, 0}}},
		// By a name: where the name is in memory, is a whole address.
		refusal{unix.SYS_UTIMENSAT, unix.EPERM, []condition{{1, unix.BPF_JEQ, true, 0}}},
		refusal{unix.SYS_UTIMENSAT, unix.EPERM, []condition{{1 + upper, unix.BPF_JEQ, true, 0}}},
	)
}

// assemble makes the kernel's program of rs. The first refusal that holds decides.
func assemble(rs []refusal) []unix.SockFilter {
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		number = 0 // places in struct seccomp_data
		arch   = 4
		args   = 16
	)
	answer := func(err unix.Errno) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(err)}
	}
	jump := func(test uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | test, K: k, Jt: yes, Jf: no}
	}
	p := []unix.SockFilter{
		// The numbers mean other calls for programs of another architecture.
		{Code: load, K: arch},
		jump(unix.BPF_JEQ, auditArch, 1, 0),
		answer(unix.ENOSYS),
		{Code: load, K: number},
		jump(unix.BPF_JGT, lastCall, 0, 1),
		answer(unix.ENOSYS),
	}
	for _, r := range rs {
		if len(r.when) == 0 {
			p = append(p, jump(unix.BPF_JEQ, r.nr, 0, 1), answer(r.err))
			continue
		}
		size := uint8(2*len(r.when) + 2) // a handful
		p = append(p, jump(unix.BPF_JEQ, r.nr, 0, size))
		for i, c := range r.when {
			p = append(p, unix.SockFilter{Code: load, K: args + 8*(c.arg%upper) + 4*(c.arg/upper)})
			// To the next condition, or over the rest of them and the answer.
			rest := uint8(2*(len(r.when)-i-1) + 1) // a handful
			if c.not {
				p = append(p, jump(c.test, c.val, rest, 0))
			} else {
				p = append(p, jump(c.test, c.val, 0, rest))
			}
		}
		p = append(p, answer(r.err), unix.SockFilter{Code: load, K: number})
	}
	return append(p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

// filterCalls refuses calls of this thread and of what it starts, for good. It needs
// no_new_privs.
func filterCalls(w walls, sockets []refusal) error {
	p := assemble(slices.Clone(refusals(w, sockets)))
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]} // a few hundred
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); e != 0 {
		return fmt.Errorf("filter system calls: %w", e)
	}
	return nil
}
