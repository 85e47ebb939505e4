package main

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"

	"github.com/distribution/distribution/v3/registry/auth"
)

// writer lets everybody pull, and one account do everything. `auth: {writer: {username: ..., password: ...}}` sets it up.
type writer struct{ username, password string }

func init() {
	if err := auth.Register("writer", newWriter); err != nil {
		panic(err)
	}
}

func newWriter(options map[string]any) (auth.AccessController, error) {
	username, password := fmt.Sprint(options["username"]), fmt.Sprint(options["password"])
	if options["username"] == nil || options["password"] == nil {
		return nil, errors.New(`"username" and "password" must be set for the access controller "writer"`)
	}
	return writer{username, password}, nil
}

func (w writer) Authorized(request *http.Request, accesses ...auth.Access) (*auth.Grant, error) {
	username, password, _ := request.BasicAuth()
	if same(username, w.username) && same(password, w.password) {
		return &auth.Grant{User: auth.UserInfo{Name: username}}, nil
	}
	for _, access := range accesses {
		if access.Action != "pull" {
			return nil, challenge{}
		}
	}
	return &auth.Grant{}, nil
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

type challenge struct{}

func (challenge) Error() string { return "only the account that writes may do this" }

func (challenge) SetHeaders(_ *http.Request, w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
}
