// rclone: its server that speaks S3, over files of this machine. The other stores and commands of rclone are left out.
package main

import (
	_ "github.com/rclone/rclone/backend/local"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/serve"
	_ "github.com/rclone/rclone/cmd/serve/s3"
)

func main() {
	cmd.Main()
}
