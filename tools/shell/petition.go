package shell

import (
	"parley/tools"
	"parley/tools/programs"
)

var _ tools.Petitioner = bash{}

// Petition implements [tools.Petitioner]. A permission holds for the reprint, for what runs it,
// and for the files of the workspace that it names as they are: who permits "sh build.sh" has
// permitted no other build.sh. (security.md 4.3)
func (b bash) Petition(c tools.Call) (tools.Petition, error) {
	j, ok := b.judgeCall(c)
	if !ok {
		return tools.Petition{}, tools.Errorf(tools.Permanent, "the arguments are not those of %s", Name)
	}
	where := b.o.Network.Around(b.o.Where)
	bound, err := programs.DigestFiles(c.Workspace, c.Dir, b.o.Runner.Inside(c.Workspace), j.Text)
	return tools.Petition{Text: j.Text, Where: programs.Where(c.Dir, where), Binding: append([]string{where}, bound...)}, err
}
