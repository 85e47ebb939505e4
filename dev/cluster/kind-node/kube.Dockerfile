# etcd and Kubernetes as kubeadm starts them: one image under the names of five.
FROM localhost/gx-kind-base
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends iptables nftables conntrack kmod \
 && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY kube /usr/local/bin/
RUN for name in etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy; do ln -s kube "/usr/local/bin/$name"; done
