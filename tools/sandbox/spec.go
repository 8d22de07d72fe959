package sandbox

// Arguments that make this binary something else, see Main.
const (
	launcherArg = "sandbox-launcher"
	helperArg   = "sandbox-helper"
	probeArg    = "sandbox-probe"
	idleArg     = "sandbox-idle"

	bubblewrapArg = "sandbox-bubblewrap" // a launcher that starts bwrap
)

// spec is what a helper does, as the gateway writes it to the helper's descriptor 3. The
// descriptor stays open as long as the gateway wants the run: its end ends the run.
type spec struct {
	Walls     walls
	Args      []string
	Env       []string
	Path      string // where Args[0] is looked up
	Dir       string // relative to the workspace
	Workspace source
	ReadOnly  []source
	Private   string // without namespaces, or with walls.OnDisk: the folder for temporary files
	Network   bool   // the machine's own
	Outlet    int    // the descriptor on which the proxy's listener goes to the gateway; 0: there is no proxy
	Memory    int64
	Processes int
	FileSize  int64
	Scratch   int64
}

// walls are the layers of one level.
type walls struct {
	Namespaces bool
	Proc       bool // a fresh /proc can be mounted
	Built      bool // bubblewrap makes namespaces and mounts, not the helper
	Users      bool // with Built: a namespace of users among them
	OnDisk     bool // with Built: temporary files are in Private, not in memory
	Landlock   int  // the version of the kernel's interface; 0: without
	Seccomp    bool
}

// source is a folder or file outside: a path, or, if FD is not 0, a mount that the
// gateway has made of it and hands over.
type source struct {
	Path string
	FD   int
}

// report is what a helper writes to its descriptor 4 before it ends.
type report struct {
	Failed string `json:",omitempty"` // what could not be set up
	Errno  int    `json:",omitempty"` // with Failed: a helper that did not start
	Start  string `json:",omitempty"` // why the program did not start, behind its walls
	Code   int
	Signal int
}
