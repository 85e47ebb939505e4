// The git host of a local cluster: Gitea with a SQLite that needs no C compiler, and its templates from a folder beside the program.
package main

import (
	"database/sql"
	"database/sql/driver"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"code.gitea.io/gitea/cmd"
	"code.gitea.io/gitea/modules/log"
	"code.gitea.io/gitea/modules/setting"
	"github.com/urfave/cli/v3"
	"modernc.org/sqlite"
)

// version is set by the linker.
var version = "development"

// sqliteDriver reads the addresses that Gitea makes for the driver that is written in C.
type sqliteDriver struct{ sqlite.Driver }

var (
	busyTimeout = regexp.MustCompile(`_busy_timeout=(\d+)`)
	sharedCache = regexp.MustCompile(`cache=shared&`)
)

func (d *sqliteDriver) Open(name string) (driver.Conn, error) {
	name = sharedCache.ReplaceAllString(name, "")
	return d.Driver.Open(busyTimeout.ReplaceAllString(name, "_pragma=busy_timeout($1)"))
}

func init() {
	sql.Register("sqlite3", &sqliteDriver{})
	setting.EnableSQLite3 = true
	setting.SupportedDatabaseTypes = append(setting.SupportedDatabaseTypes, "sqlite3")
	setting.AppVer = version
	setting.AppStartTime = time.Now().UTC()
	if program, err := os.Executable(); err == nil {
		setting.StaticRootPath = filepath.Join(filepath.Dir(program), "gitea-files")
	}
}

func main() {
	cli.OsExiter = func(code int) {
		log.GetManager().Close()
		os.Exit(code)
	}
	// What went wrong stands in the log, and the exit code tells that something did.
	_ = cmd.RunMainApp(cmd.NewMainApp(cmd.AppVersion{Version: version}), os.Args...)
	log.GetManager().Close()
}
