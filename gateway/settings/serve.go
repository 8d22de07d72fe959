package settings

import (
	"fmt"

	"parley/gateway/inquiries"
	"parley/problems"
)

// inquiriesPath is the path of the mistakes in MCPConfig.Serve.
const inquiriesPath = "mcp.serve"

// Inquiries returns what programs may ask people.
func (c Config) Inquiries() inquiries.Settings {
	var ignored problems.List
	return inquiries.Settings{People: askedPeople(c.MCP.Serve, c.Accounts(), &ignored), Timeout: c.MCP.Serve.Timeout, PerPerson: c.MCP.Serve.PerPerson}
}

// validateInquiries reports the mistakes in what programs may ask people.
func validateInquiries(c Config, ps *problems.List) {
	ps.Check(inquiriesPath, c.MCP.Serve.Validate())
	askedPeople(c.MCP.Serve, c.Accounts(), ps)
}

// askedPeople returns whom programs may ask, and reports the mistakes in what is said of them.
func askedPeople(s inquiries.Config, accounts []Account, ps *problems.List) (all []inquiries.Person) {
	for i, p := range s.People {
		at := fmt.Sprintf("%s.people[%d]", inquiriesPath, i)
		if !instanceName.MatchString(p.Name) {
			ps.Add(at+".name", "%q is no name of a person whom programs ask, which is %s", p.Name, instanceName)
		}
		if p.Person == "" {
			ps.Add(at+".person", "%w: the id of the person on the account's network", problems.ErrRequired)
			continue
		}
		to := JobTarget{Account: p.Account, Person: p.Person}
		if a, ok := to.account(accounts, ps, at); ok {
			all = append(all, inquiries.Person{Name: p.Name, About: p.About, Channel: a.Name, To: a.addressOf(to), Sign: a.Network.CommandSign})
		}
	}
	return all
}
