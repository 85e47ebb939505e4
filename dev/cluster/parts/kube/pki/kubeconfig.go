package pki

import (
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func (c cluster) writeKubeconfig(user string, ca *authority, client pair) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[c.name] = &clientcmdapi.Cluster{
		Server:                   "https://" + c.nodeAddress + ":6443",
		CertificateAuthorityData: ca.self.certificate,
	}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{
		ClientCertificateData: client.certificate,
		ClientKeyData:         client.key,
	}
	config.Contexts[c.name] = &clientcmdapi.Context{Cluster: c.name, AuthInfo: user}
	config.CurrentContext = c.name
	return clientcmd.WriteToFile(*config, c.path(user+".kubeconfig"))
}
