package sqlite

import (
	"parley/sessions/rules"
)

var (
	selectControl = "SELECT " + rules.ControlColumns + ", done FROM controls WHERE id = ?"
	insertControl = insertOf("controls", rules.ControlColumns)
)

func loadControl(s source, id string) (c rules.Control, found bool, err error) {
	found, err = s.queryRow(selectControl, args(id), append(c.Places(), &c.Done)...)
	return c, found, err
}

// putControl inserts a request, or marks one as done.
func (t *tx) putControl(c rules.Control) (err error) {
	if c.Done {
		err = t.exec("UPDATE controls SET done = 1 WHERE id = ?", c.ID)
	} else {
		err = t.exec(insertControl, c.Places()...)
	}
	return rules.While(err, "write control request %s", c.ID)
}
