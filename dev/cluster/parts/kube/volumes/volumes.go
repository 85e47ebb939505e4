// Package volumes gives each claim a folder on the node, and removes the folder with the volume.
package volumes

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

const provisionerName = "gx-platform.dev/node-folder"

type folders struct {
	root string
}

// Main runs until it is told to stop.
func Main(args []string) error {
	flags := flag.NewFlagSet("volume-provisioner", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "how to reach the API server")
	root := flags.String("root", "", "folder that holds the volumes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	controller.NewProvisionController(ctx, client, provisionerName, folders{root: *root},
		controller.LeaderElection(false), controller.MetricsPort(0)).Run(ctx)
	return nil
}

func (f folders) Provision(
	_ context.Context, options controller.ProvisionOptions,
) (*v1.PersistentVolume, controller.ProvisioningState, error) {
	if options.SelectedNodeName == "" {
		return nil, controller.ProvisioningFinished, errors.New("the storage class must wait for the first consumer")
	}
	folder := filepath.Join(f.root, options.PVName)
	if err := makeWritable(folder); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	return volumeFor(options, folder), controller.ProvisioningFinished, nil
}

func (f folders) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	if volume.Spec.Local == nil || filepath.Dir(volume.Spec.Local.Path) != filepath.Clean(f.root) {
		return fmt.Errorf("volume %s is not a folder under %s", volume.Name, f.root)
	}
	return os.RemoveAll(volume.Spec.Local.Path)
}

// Any user id may write: pods run as users this machine does not know. MkdirAll alone would be cut by the umask.
func makeWritable(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return os.Chmod(folder, 0o777)
}

// A local volume, not a host path: the kubelet honours fsGroup only for the former.
func volumeFor(options controller.ProvisionOptions, folder string) *v1.PersistentVolume {
	filesystem := v1.PersistentVolumeFilesystem
	onNode := v1.NodeSelectorRequirement{
		Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{options.SelectedNodeName},
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   options.PVC.Spec.AccessModes,
			VolumeMode:                    &filesystem,
			Capacity:                      v1.ResourceList{v1.ResourceStorage: options.PVC.Spec.Resources.Requests[v1.ResourceStorage]},
			PersistentVolumeSource:        v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: folder}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{
				NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{onNode}}},
			}},
		},
	}
}
