package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// forbiddenHere are calls that other architectures do not have.
var forbiddenHere = []uint32{unix.SYS_KEXEC_FILE_LOAD}

var (
	setIDHere  []refusal
	byNameHere []uint32
)
