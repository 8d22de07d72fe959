package policy

import (
	"regexp"
	"strings"
)

// rules are what the policy knows of commands.
type rules struct {
	blocked map[string]string // never run; the hint says what to do instead
	known   map[string]rule
}

// isBlocked reports whether a command of this name never runs.
func (r *rules) isBlocked(name string) bool {
	_, ok := r.blocked[name]
	return ok || strings.HasPrefix(name, "mkfs.") || loader.MatchString(name)
}

func (r *rules) hint(name string) string { return r.blocked[name] }

// find returns the rule of a command, nil where there is none.
func (r *rules) find(name string) rule {
	if f := r.known[name]; f != nil {
		return f
	}
	if m := versioned.FindStringSubmatch(name); m != nil {
		return r.known[m[1]]
	}
	return nil
}

var (
	// loader is the program that loads others: ld.so /bin/rm runs rm.
	loader = regexp.MustCompile(`^ld(-linux|-musl|\.so|64\.so|-[0-9.]+\.so)`)
	// versioned are names of interpreters with a version.
	versioned = regexp.MustCompile(`^(python|pypy|perl|ruby|node|lua|php|pip|tclsh|bash)-?[0-9][0-9.]*$`)
)

// newRules returns the rules without anything of an operator.
func newRules() *rules {
	r := &rules{blocked: map[string]string{}, known: map[string]rule{}}
	for names, hint := range map[string]string{
		"rm unlink rmdir shred srm wipe grm gunlink grmdir gshred":                                                                         "use delete_file",
		"sudo su doas pkexec runuser run0 sudoedit sux gosu su-exec setpriv capsh newgrp sg chroot unshare nsenter systemd-run machinectl": "commands run as the user that they have",
		"dd gdd dcfldd mkfs mke2fs mkswap swapon swapoff fdisk cfdisk sfdisk gdisk sgdisk parted wipefs blkdiscard hdparm losetup cryptsetup mdadm " +
			"lvremove vgremove pvremove fsck debugfs tune2fs resize2fs mount umount fusermount": "disks are out of reach",
		"shutdown reboot halt poweroff telinit init kexec rtcwake pm-suspend":                                "the machine is not ours to stop",
		"insmod modprobe rmmod depmod sysctl iptables ip6tables nft":                                         "the kernel is out of reach",
		"useradd userdel usermod groupadd groupdel passwd chpasswd visudo vipw chsh adduser deluser gpasswd": "users are out of reach",
		"at batch crontab atq atrm": "nothing is started later",
		"ptrace gcore":              "processes are out of reach",
	} {
		for name := range strings.FieldsSeq(names) {
			r.blocked[name] = hint
		}
	}
	r.addLooking()
	r.addChanging()
	r.addWrappers()
	r.addShells()
	r.addBuiltins()
	r.addSpecial()
	return r
}

func (r *rules) add(names string, f rule) {
	for name := range strings.FieldsSeq(names) {
		r.known[name] = f
	}
}

// addLooking adds the commands that change nothing.
func (r *rules) addLooking() {
	r.add("ls dir vdir cat head tac rev nl paste join comm fold fmt expand unexpand column pr od hexdump strings stat du df "+
		"basename dirname realpath readlink md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum cmp diff base64 base32 wc cut "+
		"tsort numfmt zcat bzcat xzcat look", looks())
	r.add("tail", looks(looker{options: options{values: "nc"}}))
	r.add("seq sleep expr factor id whoami groups uname arch uptime free ps pgrep nproc tty locale getconf lscpu lsblk cal which whereis printenv true false yes "+
		"pwd times dirs help type logname users who w vmstat", looks(looker{no: true}))
	r.add("tr", looks(looker{no: true}))
	r.add("jobs", looks(looker{no: true, options: options{effects: map[string]effect{"x": runs}}}))
	r.add("hostname", looks(looker{no: true, alone: true, options: options{effects: map[string]effect{"F": asks, "file": asks, "b": asks, "boot": asks}}}))
	r.add("grep egrep fgrep", looks(looker{skip: 1, unless: "e f regexp file", options: options{values: "efmABC", longs: "regexp file max-count", effects: map[string]effect{
		"e": ignores, "regexp": ignores, "f": readsOne, "file": readsOne, "exclude-from": readsOne,
	}}}))
	r.add("rg", looks(looker{skip: 1, unless: "e f regexp file files", options: options{values: "efgtTmABCjr", longs: "regexp file glob type type-not", effects: map[string]effect{
		"e": ignores, "regexp": ignores, "f": readsOne, "file": readsOne, "pre": runs, "hostname-bin": runs, "r": ignores, "replace": ignores,
	}}}))
	r.add("jq", looks(looker{skip: 1, unless: "f from-file", options: options{values: "fL", longs: "from-file library-path indent", effects: map[string]effect{
		"f": readsOne, "from-file": readsOne, "L": readsOne,
	}}}))
	r.add("sort", looks(looker{options: options{values: "koStT", longs: "key output buffer-size field-separator temporary-directory compress-program parallel", effects: map[string]effect{
		"o": writesOne, "output": writesOne, "compress-program": runs, "T": writesOne, "temporary-directory": writesOne, "files0-from": readsOne, "t": ignores, "k": ignores,
	}}}))
	r.add("uniq", looks(looker{writeAt: 2, options: options{values: "fsw", longs: "skip-fields skip-chars check-chars"}}))
	r.add("xxd", looks(looker{writeAt: 2, options: options{only: "-a -b -e -E -i -p -ps -r -u -v", onlyValues: "-c -g -l -o -s"}}))
	r.add("zstdcat", looks(looker{options: options{only: "-q -v -f"}}))
	r.add("shuf", looks(looker{options: options{values: "ino", longs: "output", effects: map[string]effect{"o": writesOne, "output": writesOne, "e": ignores, "random-source": readsOne}}}))
	r.add("iconv", looks(looker{options: options{values: "fto", longs: "output from-code to-code", effects: map[string]effect{"o": writesOne, "output": writesOne}}}))
	r.add("tree", looks(looker{options: options{only: "-a -d -f -i -s -h -t -r -C -n -D -p -F -A -S -J -X --noreport --dirsfirst --gitignore --prune", onlyValues: "-L -P -I"}}))
	r.add("diff3", looks(looker{options: options{effects: map[string]effect{"diff-program": runs}}}))
	r.add("sdiff", looks(looker{options: options{values: "o", longs: "output diff-program", effects: map[string]effect{"diff-program": runs, "o": asks, "output": asks}}})) // it starts an editor
	r.add("file", looks(looker{options: options{values: "mfFP", effects: map[string]effect{"C": asks, "compile": asks, "m": asks, "magic-file": asks}}}))
	r.add("date", looks(looker{no: true, sets: true, options: options{values: "dfrs", joined: "I", longs: "date file reference set", effects: map[string]effect{"s": asks, "set": asks, "f": readsOne, "file": readsOne, "r": readsOne, "reference": readsOne, "d": ignores}}}))
	r.add("bc", looks())
	r.add("more less", pages)
	r.add("gofmt", looks(looker{options: options{effects: map[string]effect{"w": changing, "cpuprofile": asks, "c": asks}}}))
}

// addChanging adds the commands that change files.
func (r *rules) addChanging() {
	r.add("touch", changes(changer{options: options{values: "drt", longs: "date reference time", effects: map[string]effect{"r": readsOne, "reference": readsOne, "t": ignores, "d": ignores}}}))
	r.add("mkdir mkfifo", withMode(changer{}))
	r.add("cp", changes(changer{last: true, options: options{values: "tS", longs: "target-directory suffix", effects: map[string]effect{
		"t": writesOne, "target-directory": writesOne, "S": asks, "suffix": asks,
		"l": asks, "link": asks, "s": asks, "symbolic-link": asks, // a link may be written through
	}}}))
	r.add("install", withMode(changer{last: true, options: options{values: "tSog", longs: "target-directory suffix owner group", effects: map[string]effect{
		"t": writesOne, "target-directory": writesOne, "S": asks, "suffix": asks,
		"strip-program": runs, "o": asks, "g": asks, "owner": asks, "group": asks, "d": asks, "directory": asks,
	}}}))
	r.add("mv ln link", changes(changer{options: options{values: "tS", longs: "target-directory suffix", effects: map[string]effect{"t": writesOne, "target-directory": writesOne, "S": asks, "suffix": asks}}}))
	r.add("tee", tees)
	r.add("truncate", changes(changer{options: options{values: "sr", longs: "size reference", effects: map[string]effect{"r": readsOne, "reference": readsOne}}}))
	r.add("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd dos2unix unix2dos", changes(changer{options: options{values: "S", effects: map[string]effect{
		"S": asks, "suffix": asks, "o": asks, "files": asks, "files0": asks, "filelist": asks, "trace": asks, "output-dir-flat": asks, "output-dir-mirror": asks,
	}}}))
	r.add("split", changes(changer{parts: true, options: options{values: "abClnt", effects: map[string]effect{"filter": runs, "additional-suffix": asks}}}))
	r.add("csplit", changes(changer{options: options{values: "fbn", longs: "prefix suffix-format", effects: map[string]effect{"f": asks, "prefix": asks, "b": asks, "suffix-format": asks}}}))
	r.add("mktemp", makesTemporary(changer{options: options{values: "p", longs: "suffix", effects: map[string]effect{"p": writesOne, "tmpdir": writesOne}}}))
	r.add("zip", changes(changer{options: options{
		effects: map[string]effect{"T": runs, "TT": runs, "unzip-command": runs}, only: "-r -q -qr -rq -rj -9 -r9 -0 -1 -j -y -u -X -D -FS -@", onlyValues: "-x -i",
	}}))
	r.add("unzip", unzips)
	r.add("tar gtar", tars)
	r.add("bsdtar", startsOthers)
	r.add("chmod", changesMode)
	r.add("cc gcc g++ c++ clang clang++", compiles)
	r.add("pytest ruff mypy tsc eslint prettier", func(j *judge, c call) {
		for _, a := range c.args {
			if a.mayBeOption() && !a.isPattern() || strings.HasPrefix(a.text, "-") && !isWord("-v -vv -q -x -s -k --tb=short -l --lf --check --noEmit", a.text) {
				j.raise(Admin, c.node, "the option %s of %s needs a person", show(a.text), c.name)
			}
			j.mention(a, c.node)
		}
		judgeWorkspaceCode(j, c)
	})
}

// addWrappers adds the commands that start others.
func (r *rules) addWrappers() {
	hidden := "env -S hides a command line in a text: write it out"
	r.add("env", wraps(wrapper{
		flags: "i0v", values: "uC", longs: "ignore-environment null debug", takes: "unset", assigns: true,
		stops: map[string]string{"S": hidden, "split-string": hidden, "s": hidden, "C": "env -C leads to another folder: use cd"},
	}))
	r.add("nice", wraps(wrapper{values: "n", takes: "adjustment", numbers: true}))
	r.add("ionice", wraps(wrapper{flags: "t", values: "cn", longs: "ignore", takes: "class classdata"}))
	r.add("nohup", wraps(wrapper{}))
	r.add("time", wraps(wrapper{flags: "pvaq", values: "fo", longs: "portability verbose append quiet", takes: "format output", writes: "o output"}))
	r.add("timeout", wraps(wrapper{flags: "v", values: "ks", longs: "foreground preserve-status verbose", takes: "kill-after signal", operands: 1}))
	r.add("stdbuf", wraps(wrapper{values: "ioe", takes: "input output error"}))
	r.add("setsid", wraps(wrapper{flags: "cfw", longs: "ctty fork wait"}))
	r.add("chrt", wraps(wrapper{flags: "abfioRrv", values: "TPD", operands: 1}))
	r.add("taskset", wraps(wrapper{flags: "ac", longs: "all-tasks cpu-list", operands: 1}))
	r.add("flock", wraps(wrapper{flags: "enosux", values: "wEc", longs: "exclusive shared nonblock unlock close no-fork", takes: "wait timeout conflict-exit-code command", code: "c command", operands: 1, files: true}))
	r.add("script", wraps(wrapper{flags: "aefq", values: "cEIOBTm", longs: "append return flush force quiet", takes: "command log-in log-out log-io log-timing", code: "c command", writes: "I O B T log-in log-out log-io log-timing", operands: 1, files: true, starts: true}))
	r.add("watch", joins(wrapper{flags: "bcdegpqtwx", values: "n", takes: "interval"}))
	r.add("setarch linux32 linux64 uname26 i386 i486 i586 i686 x86_64 aarch64 armv7l", wraps(wrapper{flags: "RvFILSTXBZ3", starts: true}))
	r.add("unbuffer chronic ifne", wraps(wrapper{flags: "p"}))
	r.add("busybox toybox coreutils", applets)
	r.add("xargs", wraps(wrapper{
		flags: "0rtpx", values: "nPLsdaIE", longs: "null no-run-if-empty verbose interactive exit open-tty",
		takes: "max-args max-procs max-chars delimiter arg-file", reads: "a arg-file", fills: true,
	}))
	r.add("strace ltrace valgrind perf gdb lldb catchsegv rr proot fakeroot", startsOthers)
	r.add("command", looksUp)
	r.add("builtin", wraps(wrapper{}))
	r.add("exec", wraps(wrapper{flags: "c"})) // under another name (-a, -l), a program may be another one
}

// addShells adds shells and other interpreters.
func (r *rules) addShells() {
	r.add("bash", bashCode)
	r.add("sh dash ash", posixCode)
	r.add("zsh fish csh tcsh ksh ksh93 mksh yash rbash rksh pwsh powershell nu xonsh elvish hush scsh wish expect", never("is a shell whose scripts are not judged here: use bash"))
	r.add("python pypy", interprets(language{code: "c", flags: "uBIEsSOqvb", values: "WX", modules: []string{"pytest", "unittest", "json.tool", "doctest"}}))
	r.add("perl", interprets(language{code: "e E", flags: "wWTtnpals0", values: ""}))
	r.add("ruby", interprets(language{code: "e", flags: "wWvnpal", values: ""}))
	r.add("node nodejs", interprets(language{code: "e p eval print", flags: "v"}))
	r.add("php", interprets(language{code: "r B R E", flags: "nv"}))
	r.add("lua luajit", interprets(language{code: "e", flags: "v"}))
	r.add("tclsh guile osascript Rscript julia swipl sbcl clisp racket erl elixir iex scala groovy jshell ghci runghc ocaml deno bun", needsPerson("runs code of another language, which a person has to read"))
	r.add("awk gawk mawk nawk original-awk", awks)
	r.add("sed gsed", seds)
	r.add("vi vim nvim view vimdiff ex ed emacs emacsclient nano pico joe micro kak helix hx", needsPerson("is an editor, and can start anything"))
	r.add("m4 dc sqlite3 psql mysql ftp sftp mail mailx irb pry", needsPerson("can start other programs"))
}

// addBuiltins adds what bash itself does.
func (r *rules) addBuiltins() {
	r.add(": break continue exit return shift ulimit caller logout disown fg bg suspend", nothing)
	r.add("let", never("evaluates texts: use $(( ))"))
	r.add("cd pushd", changesFolder)
	r.add("popd", func(j *judge, c call) {
		if len(c.args) > 0 {
			j.raise(Admin, c.node, "popd with arguments needs a person")
		}
	})
	r.add("echo printf", printsText)
	r.add("test [", tests)
	r.add("set", setsOptions)
	r.add("shopt", setsShopt)
	r.add("read", namesVariables("adinNptu", ""))
	r.add("mapfile readarray", namesVariables("dnOsucC", "Cc"))
	r.add("unset", namesVariables("", "n"))
	r.add("wait", namesVariables("p", ""))
	r.add("getopts", getsOptions)
	r.add("export declare typeset local readonly", declaresByName)
	r.add("umask", masks)
	r.add("kill", sendsSignal)
	r.add("trap", traps)
	r.add("eval", never("runs a text: write the command itself"))
	r.add("source .", never("runs commands that cannot be seen here: write them out"))
	r.add("alias unalias", never("changes what names mean"))
	r.add("hash", never("changes what names mean"))
	r.add("enable", never("changes what names mean"))
	r.add("coproc function", never("is not run"))
	r.add("bind complete compgen compopt fc history", never("can run a text"))
}

// addSpecial adds what has rules of its own.
func (r *rules) addSpecial() {
	r.add("find", finds)
	r.add("git", gits)
	r.add("go", goes)
	r.add("make gmake", makes)
	r.add("npm pnpm yarn", packages)
	r.add("cargo", cargos)
	r.add("systemctl loginctl", services)
	r.add("nc ncat netcat socat", connects)
	r.add("rsync", optionsOrPerson("reaches other machines or copies whole trees", options{values: "e", longs: "rsh rsync-path", effects: map[string]effect{"e": runs, "rsh": runs, "rsync-path": runs}}))
	elsewhere := optionsOrPerson("reaches other machines", options{values: "oFS", effects: map[string]effect{"o": runs, "F": runs, "S": runs}})
	r.add("ssh scp", func(j *judge, c call) {
		startsOthers(j, c)
		elsewhere(j, c)
	})
	r.add("man", manuals)
	r.add("parallel", never("gives texts to a shell: use xargs"))
	r.add("curl wget ping dig host nslookup telnet traceroute", needsPerson("reaches the network"))
	r.add("docker podman nerdctl kubectl helm lxc crictl", needsPerson("reaches other machines, or this one as another user"))
	r.add("npx pipx uv uvx bunx", startsOthers)
	r.add("pip gem apt apt-get dpkg yum dnf apk pacman brew snap", needsPerson("fetches and runs code of others"))
	r.add("chown chgrp chattr setfacl mknod patch", needsPerson("changes more than its arguments show"))
	r.add("pkill killall", needsPerson("ends processes by their names"))
}
