// kubectl and helm in one binary, where nobody has compiled them for this machine already.
// The name it is called by says which of them it is.
package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	helmcmd "helm.sh/helm/v4/pkg/cmd"
	helmkube "helm.sh/helm/v4/pkg/kube"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if filepath.Base(os.Args[0]) == "helm" {
		helm()
		return
	}
	kubectl()
}

func kubectl() {
	logs.GlogSetter(kubectlcmd.GetLogVerbosity(os.Args)) //nolint:errcheck
	if err := cli.RunNoErrOutput(kubectlcmd.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}

func helm() {
	// Field ownership in the cluster must not depend on the name of this binary.
	helmkube.ManagedFieldsManager = "helm"
	command, err := helmcmd.NewRootCmd(os.Stdout, os.Args[1:], helmcmd.SetupLogging)
	if err != nil {
		slog.Error("helm cannot start", "error", err)
		os.Exit(1)
	}
	if err := command.Execute(); err != nil {
		var failed helmcmd.CommandError
		if errors.As(err, &failed) {
			os.Exit(failed.ExitCode)
		}
		os.Exit(1)
	}
}
