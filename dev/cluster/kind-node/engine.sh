#!/bin/sh
# Runs Docker in namespaces of its own: engine.sh <state folder> <address> <host's address> <cgroup>
set -eu
state=$1 address=$2 host=$3 cgroup=$4

mount --make-rshared /
resolv=$(cat /etc/resolv.conf)
mount -t tmpfs -o mode=755 run /run
case $(readlink -m /etc/resolv.conf) in
/run/*) mkdir -p "$(dirname "$(readlink -m /etc/resolv.conf)")" && echo "$resolv" > "$(readlink -m /etc/resolv.conf)" ;;
esac
ip link set lo up
until ip link show eth0 > /dev/null 2>&1; do sleep 0.1; done
ip address add "$address/30" dev eth0
ip link set eth0 up
ip route add default via "$host"
echo 1 > /proc/sys/net/ipv4/ip_forward

# A process without this capability gives it to no container, and a privileged container asks for all of them.
runtime=runc
if [ $((0x$(awk '/CapBnd/ {print $2}' /proc/self/status) >> 24 & 1)) = 0 ]; then
  runtime=fewer
fi
exec dockerd --host "unix://$state/docker.sock" --data-root "$state/docker" --exec-root /run/engine --pidfile /run/engine.pid \
  --cgroup-parent "$cgroup" --oom-score-adjust 0 --add-runtime "fewer=$state/runc-fewer" --default-runtime "$runtime"
