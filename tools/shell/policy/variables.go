package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assignName judges the name of a variable that is assigned.
func (j *judge) assignName(name string, exported bool, part syntax.Node) {
	switch variableVerdict(name) {
	case Deny:
		j.raise(Deny, part, "the variable %s steers which programs run and what they load: it cannot be set", name)
	case Admin:
		if exported {
			j.raise(Admin, part, "what the variable %s does to programs is not known", name)
			return
		}
		j.raise(Admin, part, "what the variable %s does to programs is not known: take a name in lower case", name)
	}
}

// steering are variables by which a shell, the loader or a program is told what to run,
// and where to find it or to send what it knows; and their beginnings.
var (
	steering = []string{
		"PATH", "IFS", "ENV", "SHELL", "HOME", "PWD", "OLDPWD", "CDPATH", "GLOBIGNORE", "EXECIGNORE", "FIGNORE",
		"SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS3", "PS4", "TMPDIR",
		"TMP", "TEMP", "HISTFILE", "INPUTRC", "MAIL", "MAILPATH", "MAILCHECK", "TIMEFORMAT", "TERMCAP", "COMSPEC",
		"EDITOR", "VISUAL", "PAGER", "BROWSER", "CC", "CXX", "LD", "AR", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CPPFLAGS",
		"GLIBC_TUNABLES", "LOCPATH", "NLSPATH", "HOSTALIASES", "RES_OPTIONS", "TAR_OPTIONS", "GZIP", "BZIP", "XZ_OPT", "XZ_DEFAULTS",
		"BC_ENV_ARGS", "ZIPOPT", "UNZIP", "CLASSPATH", "JAVA_HOME", "KUBECONFIG", "USER", "LOGNAME", "UID", "EUID", "PPID", "DISPLAY",
		"RANDOM", "SRANDOM", "SECONDS", "LINENO", "HISTCMD", "EPOCHSECONDS", "_", "histchars", "auto_resume", "REPLY", "OPTARG", "OPTIND", "OPTERR", "DIRSTACK", "FUNCNAME", "GROUPS", "COPROC", "MAPFILE", "TEXTDOMAIN", "TEXTDOMAINDIR",
	}
	steeringBegins = []string{
		"LD_", "DYLD_", "BASH", "GIT_", "GCONV_", "PYTHON", "PERL", "RUBY", "GEM_", "BUNDLE_", "NODE_", "NPM_", "npm_", "YARN_", "yarn_", "PNPM_", "pnpm_", "DENO_", "BUN_",
		"LESS", "MAN", "GROFF_", "RSYNC_", "SSH_", "SVN_", "HG", "CURL_", "WGET", "GO", "CARGO", "RUST", "MAKE", "MFLAGS", "CMAKE_", "GCC_", "COMPILER_",
		"JAVA_TOOL_", "JDK_", "_JAVA", "MAVEN_", "GRADLE_", "MALLOC_", "TERMINFO", "OPENSSL_", "SSL_", "REQUESTS_", "XDG_", "DOCKER_", "AWS_", "GOOGLE_",
		"AZURE_", "PIP_", "UV_", "CONDA_", "VIRTUAL_ENV", "LUA_", "PHP", "TCL", "R_", "JULIA_", "GREP_", "DBUS_", "SYSTEMD_", "PARLEY", "ANTHROPIC_", "OPENAI_",
	}
	harmless = []string{
		"LANG", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "CI",
		"DEBUG", "VERBOSE", "GOOS", "GOARCH", "CGO_ENABLED", "GOMAXPROCS", "NODE_ENV", "DEBIAN_FRONTEND", "SOURCE_DATE_EPOCH",
	}
)

// Steers reports whether a variable of that name decides which programs run or what they load,
// or is no name of a variable. What scripts mean would not be what was judged, if an operator
// set it.
func Steers(name string) bool { return variableVerdict(name) == Deny }

// variableVerdict returns Read for a variable that steers nothing, Deny for one that is
// known to, and Admin for one in capitals that is not known.
func variableVerdict(name string) Verdict {
	upper := strings.ToUpper(name)
	switch {
	case !identifier.MatchString(name):
		return Deny
	case slices.Contains(harmless, name), strings.HasPrefix(name, "LC_"):
		return Read
	case slices.Contains(steering, name), strings.HasSuffix(upper, "_PROXY"), upper == "PROXY",
		slices.ContainsFunc(steeringBegins, func(s string) bool { return strings.HasPrefix(name, s) }):
		return Deny
	case name == strings.ToLower(name), len(name) == 1:
		return Read
	}
	return Admin
}
