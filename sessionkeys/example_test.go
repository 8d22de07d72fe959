package sessionkeys_test

import (
	"fmt"

	"parley/sessionkeys"
)

func Example() {
	key, err := sessionkeys.For("main", sessionkeys.Address{
		Channel: "telegram",
		Account: "7012345678",
		Kind:    sessionkeys.Group,
		Peer:    "-1001234567890",
		Thread:  "42",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	child, err := key.Child("research")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(key)
	fmt.Println(child)
	fmt.Println(len(key.Token()), child.Depth(), child.Root() == key)
	// Output:
	// main:7012345678:telegram:group:-1001234567890:thread:42
	// agent:research:sub:1:main:7012345678:telegram:group:-1001234567890:thread:42
	// 32 1 true
}
