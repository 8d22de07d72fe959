package policy

import "strings"

// finds judges find: what it deletes, runs and writes.
func finds(j *judge, c call) {
	const (
		single = "-print -print0 -prune -quit -ls -follow -mount -xdev -depth -d -daystart -empty -readable -writable -executable -true -false -noleaf -nouser -nogroup -not -o -or -a -and -H -L -P -help --help -version --version -warn -nowarn -ignore_readdir_race"
		paired = "-name -iname -path -ipath -wholename -regex -iregex -regextype -type -xtype -maxdepth -mindepth -mtime -mmin -atime -amin -ctime -cmin -size -perm -user -group -uid -gid -links -inum -lname -ilname -fstype -used -printf -context -D"
		paths  = "-newer -anewer -cnewer -samefile -newermt -newerat -newerct"
		writes = "-fprint -fprint0 -fls -fprintf"
		runs   = "-exec -execdir -ok -okdir"
	)
	start := true
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		text, known := a.lit()
		var value arg
		if i+1 < len(c.args) {
			value = c.args[i+1]
		}
		switch {
		case known && text == "-delete":
			j.raise(Deny, c.node, "find -delete is always denied: use delete_file")
		case known && isWord(runs, text):
			i = judgeFindCommand(j, c, i+1)
			if strings.HasSuffix(text, "dir") {
				j.raise(Admin, c.node, "find %s starts its command where a file lies, so its paths are not known: use -exec", text)
			}
		case known && isWord(single, text), known && isWord("( ) ! ,", text), known && strings.HasPrefix(text, "-O") && len(text) == 3:
			start = start && isWord("-H -L -P", text)
		case known && isWord(paired, text):
			i, start = i+1, false
			judgeFindValue(j, c, value)
		case known && isWord(paths, text):
			i, start = i+1, false
			judgeFindValue(j, c, value)
			j.reads(value, c.node)
		case known && isWord(writes, text):
			i, start = i+1, false
			j.writes(value, c.node, "find "+text)
			if text == "-fprintf" && i+1 < len(c.args) {
				i++
				judgeFindValue(j, c, c.args[i])
			}
		case start && !strings.HasPrefix(a.text, "-"):
			if a.mayBeOption() {
				j.raise(Admin, c.node, "an argument of find may turn out to be an option: put ./ before it")
			}
			j.reads(a, c.node)
		default:
			j.raise(Admin, c.node, "find with %s is not known to the policy", show(a.text))
		}
	}
}

// judgeFindValue judges the value of a test: what it splits into must be no test of another kind.
func judgeFindValue(j *judge, c call, value arg) {
	if value.splits && value.mayBe("-delete -exec -execdir -ok -okdir -fprint -fprint0 -fls -fprintf") {
		j.raise(Admin, c.node, "an argument of find may turn out to be several: quote it")
	}
}

// judgeFindCommand judges the command that find starts; the words from i on are it. It returns
// where the command ends.
func judgeFindCommand(j *judge, c call, i int) int {
	var inner []arg
	for ; i < len(c.args) && !c.args[i].is(";"); i++ {
		a := c.args[i]
		if a.is("+") && c.args[i-1].is("{}") && len(inner) > 0 {
			break
		}
		if a.splits || strings.Trim(a.text, marks) == "" { // it may be the sign that ends the command
			j.raise(Deny, c.node, "where the command of find ends is only known at run time: put a text before what is unknown")
		}
		if strings.Contains(a.text, "{}") {
			a.text = strings.ReplaceAll(a.text, "{}", markAny)
			if len(inner) > 0 { // find puts the folder before each name
				a.text = strings.Replace(a.text, markAny, "./"+markAny, 1)
			}
		}
		inner = append(inner, a)
	}
	j.run(call{args: inner, node: c.node, wrapped: c.wrapped + 1})
	return i
}
