package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// forbiddenHere are calls that other architectures do not have.
var forbiddenHere = []uint32{unix.SYS_KEXEC_FILE_LOAD, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB}

var setIDHere = []refusal{
	{unix.SYS_CHMOD, unix.EPERM, []condition{{1, unix.BPF_JSET, false, setIDBits}}},
	{unix.SYS_CREAT, unix.EPERM, []condition{{1, unix.BPF_JSET, false, setIDBits}}},
	{unix.SYS_MKNOD, unix.EPERM, []condition{{1, unix.BPF_JSET, false, setIDBits}}},
	{unix.SYS_OPEN, unix.EPERM, []condition{{1, unix.BPF_JSET, false, creates}, {2, unix.BPF_JSET, false, setIDBits}}},
}

// byNameHere are calls that change a file's mode, owner or times by its name.
var byNameHere = []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
