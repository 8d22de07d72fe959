package commandline

import (
	"regexp"
	"slices"
	"strings"

	"parley/tools"
	"parley/tools/programs"
)

// Petition implements [tools.Petitioner]. A permission holds for the program as it is, its
// arguments, what runs it, the names of its variables, and the files of the workspace that its
// arguments name as they are.
func (t *Tool) Petition(c tools.Call) (tools.Petition, error) {
	cmd, err := t.Command(c)
	if err != nil {
		return tools.Petition{}, tools.Errorf(tools.Permanent, "invalid arguments: %w", err)
	}
	where := t.spec.Network.Around(t.o.Where)
	binding := []string{where, t.sum}
	for _, v := range t.spec.Env {
		binding = append(binding, v.Name)
	}
	files, err := programs.DigestFiles(c.Workspace, c.Dir, t.o.Runner.Inside(c.Workspace), "", cmd.Args[1:]...)
	if err != nil {
		return tools.Petition{}, err
	}
	return tools.Petition{Text: quoteAll(cmd.Args), Where: programs.Where(c.Dir, where), Binding: slices.Concat(binding, files)}, nil
}

var plainArgument = regexp.MustCompile(`^[A-Za-z0-9_./:=@,+-]+$`)

// quoteAll returns an argument vector on one line, as one would type it: where each argument
// begins and ends is to be seen.
func quoteAll(args []string) string {
	all := make([]string, len(args))
	for i, arg := range args {
		if all[i] = arg; !plainArgument.MatchString(arg) {
			all[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(all, " ")
}
