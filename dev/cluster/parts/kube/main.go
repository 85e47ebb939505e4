// One binary for the whole control plane and node: the shared packages are compiled and linked once,
// which is what makes a build from source bearable. The name it is called by says which tool it is.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	_ "time/tzdata" // cron jobs with time zones, on machines without a zone database

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	"gx-platform/dev/cluster/parts/kube/pki"
	"gx-platform/dev/cluster/parts/kube/volumes"
)

var tools = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          component(apiserver.NewAPIServerCommand),
	"kube-controller-manager": component(controllermanager.NewControllerManagerCommand),
	"kube-proxy":              component(proxy.NewProxyCommand),
	"kube-scheduler": component(func() *cobra.Command {
		return scheduler.NewSchedulerCommand()
	}),
	"kubelet": component(func() *cobra.Command {
		return kubelet.NewKubeletCommand(context.Background())
	}),
	"cluster-pki":        orExit(pki.Main),
	"volume-provisioner": orExit(volumes.Main),
}

func main() {
	tool, found := tools[filepath.Base(os.Args[0])]
	if !found && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		tool, found = tools[os.Args[0]]
	}
	if !found {
		fmt.Fprintf(os.Stderr, "usage: kube <tool> args...\ntools: %s\n", strings.Join(names(), " "))
		os.Exit(2)
	}
	tool()
}

func component(command func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(command())) }
}

func orExit(run func(args []string) error) func() {
	return func() {
		if err := run(os.Args[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
			os.Exit(1)
		}
	}
}

func names() []string {
	all := make([]string, 0, len(tools))
	for name := range tools {
		all = append(all, name)
	}
	sort.Strings(all)
	return all
}
