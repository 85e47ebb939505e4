// The API server and the controllers of the oldest Kubernetes that the chart asks for, in one binary. The name it is
// called by says which of them it is.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

var tools = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
}

func main() {
	command, found := tools[filepath.Base(os.Args[0])]
	if !found {
		fmt.Fprintln(os.Stderr, "call it by the name kube-apiserver or kube-controller-manager")
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}
