# The node of a kind cluster from Debian's packages and the parts of the native cluster, where no registry has one.
FROM localhost/gx-kind-base
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      systemd systemd-sysv conntrack iptables nftables iproute2 ethtool util-linux mount kmod libseccomp2 pigz e2fsprogs bash \
      ca-certificates curl jq procps socat containernetworking-plugins \
 && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY kind/ /
COPY own/ /
# As in kind's own image, no service of Debian's runs, and the two of Kubernetes do.
RUN chmod 755 /kind /kind/bin /kind/bin/* /usr/local/bin/* \
 && find /lib/systemd/system/sysinit.target.wants/ -name systemd-tmpfiles-setup.service -delete \
 && rm -f /lib/systemd/system/multi-user.target.wants/* /etc/systemd/system/*.wants/* /lib/systemd/system/local-fs.target.wants/* \
      /lib/systemd/system/sockets.target.wants/*udev* /lib/systemd/system/sockets.target.wants/*initctl* \
      /lib/systemd/system/basic.target.wants/* \
 && echo 'ReadKMsg=no' >> /etc/systemd/journald.conf \
 && systemctl enable kubelet.service containerd.service undo-mount-hacks.service load-images.service volume-provisioner.service \
 && systemctl mask systemd-binfmt.service \
 && mkdir -p /etc/kubernetes/manifests /opt/cni && ln -s /usr/lib/cni /opt/cni/bin \
 && ln -s kube /usr/bin/kubelet && ln -s kube /usr/bin/volume-provisioner \
 && sed -i 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' /etc/containerd/config.toml \
 && sed -i 's|^KUBELET_EXTRA_ARGS=|&--config-dir=/etc/kubernetes/kubelet.conf.d |' /etc/default/kubelet \
 && ctr oci spec \
      | jq '.hooks.createContainer[.hooks.createContainer| length] |= . + {"path": "/kind/bin/mount-product-files.sh"} | del(.process.rlimits)' \
      > /etc/containerd/cri-base.json
ENV container=docker
STOPSIGNAL SIGRTMIN+3
ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]
