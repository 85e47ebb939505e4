// Package pki writes the certificates, keys and kubeconfigs of one single-node cluster into one folder.
package pki

import (
	"crypto/x509/pkix"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

type cluster struct {
	dir         string
	name        string
	nodeName    string
	nodeAddress string
	serviceIP   string
}

// Clients of the API server: file name -> user and groups, as RBAC's bootstrap roles expect them.
func (c cluster) clients() map[string]pkix.Name {
	return map[string]pkix.Name{
		"admin":              {CommonName: "admin", Organization: []string{"system:masters"}},
		"controller-manager": {CommonName: "system:kube-controller-manager"},
		"scheduler":          {CommonName: "system:kube-scheduler"},
		"kubelet":            {CommonName: "system:node:" + c.nodeName, Organization: []string{"system:nodes"}},
		"proxy":              {CommonName: "system:kube-proxy"},
		"coredns":            {CommonName: "system:coredns"},
		"metrics-server":     {CommonName: "system:metrics-server"},
		"policy-agent":       {CommonName: "system:policy-agent"},
		"volume-provisioner": {CommonName: "system:volume-provisioner"},
	}
}

// Main reads the flags and writes every file anew.
func Main(args []string) error {
	var c cluster
	flags := flag.NewFlagSet("cluster-pki", flag.ContinueOnError)
	flags.StringVar(&c.dir, "dir", "", "folder to write to")
	flags.StringVar(&c.name, "cluster", "", "cluster name, for the kubeconfigs")
	flags.StringVar(&c.nodeName, "node-name", "", "name of the node")
	flags.StringVar(&c.nodeAddress, "node-address", "", "address of the node")
	flags.StringVar(&c.serviceIP, "service-address", "", "first address of the service range")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, address := range []string{c.nodeAddress, c.serviceIP} {
		if net.ParseIP(address) == nil {
			return fmt.Errorf("not an IP address: %q", address)
		}
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	return c.write()
}

func (c cluster) write() error {
	ca, err := newAuthority(c.name + "-ca")
	if err != nil {
		return err
	}
	if err := ca.self.save(c.path("ca")); err != nil {
		return err
	}
	if err := c.writeServers(ca); err != nil {
		return err
	}
	if err := c.writeClients(ca); err != nil {
		return err
	}
	return writeServiceAccountKey(c.path("service-account"))
}

func (c cluster) writeServers(ca *authority) error {
	names := []string{
		"localhost", c.nodeName,
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}
	addresses := []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(c.nodeAddress), net.ParseIP(c.serviceIP)}
	for file, commonName := range map[string]string{"apiserver": "kube-apiserver", "kubelet-server": c.nodeName} {
		pair, err := ca.server(commonName, names, addresses)
		if err != nil {
			return err
		}
		if err := pair.save(c.path(file)); err != nil {
			return err
		}
	}
	return nil
}

func (c cluster) writeClients(ca *authority) error {
	for file, subject := range c.clients() {
		pair, err := ca.client(subject)
		if err != nil {
			return err
		}
		if err := c.writeKubeconfig(file, ca, pair); err != nil {
			return err
		}
	}
	return c.writeServerClients(ca)
}

// What the API server itself shows to the kubelet, and to aggregated API servers.
func (c cluster) writeServerClients(ca *authority) error {
	for file, subject := range map[string]pkix.Name{
		"apiserver-kubelet-client": {CommonName: "apiserver-kubelet-client", Organization: []string{"system:masters"}},
		"front-proxy-client":       {CommonName: "front-proxy-client"},
	} {
		pair, err := ca.client(subject)
		if err != nil {
			return err
		}
		if err := pair.save(c.path(file)); err != nil {
			return err
		}
	}
	return nil
}

func (c cluster) path(name string) string { return filepath.Join(c.dir, name) }
