import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runProcess, canRun } from '../../commands.ts';
import { waitUntil } from '../../wait.ts';
import { getStatePaths, nodePodRange, type Layout } from './layout.ts';

/** Folders whose paths are fixed in programs. In the node's mount namespace they are the cluster's own. */
export const fixedFolders = ['/var/lib/kubelet', '/var/lib/cni'];

/** Turns the new namespaces into a node: mounts, network, host name. Runs inside them. */
export async function prepareNode(layout: Layout): Promise<void> {
  await mountOwnFolders(layout);
  writeFileSync('/proc/sys/kernel/hostname', layout.nodeName);
  await keepWholeProc();
  await maskKernelSettings();
  await connect(layout);
}

async function mountOwnFolders(layout: Layout): Promise<void> {
  const { kubelet, logFolder } = getStatePaths(layout);
  // Volumes that the kubelet mounts must be visible in containers, and nowhere outside this namespace.
  await runProcess('mount', ['--make-rshared', '/']);
  await mountOwnRun();
  await runProcess('mount', ['--bind', kubelet, '/var/lib/kubelet']);
  await runProcess('mount', ['--bind', logFolder, '/var/log']);
  await runProcess('mount', ['-t', 'tmpfs', 'cni', '/var/lib/cni']);
}

// On many machines /etc/resolv.conf is a link into /run.
async function mountOwnRun(): Promise<void> {
  const resolvConf = realpathSync('/etc/resolv.conf');
  const content = readFileSync(resolvConf);
  await runProcess('mount', ['-t', 'tmpfs', '-o', 'mode=755', 'run', '/run']);
  if (!resolvConf.startsWith('/run/')) return;
  mkdirSync(dirname(resolvConf), { recursive: true });
  writeFileSync(resolvConf, content);
}

// The kernel lets a pod with users of its own mount /proc only where another one is seen that nothing covers.
async function keepWholeProc(): Promise<void> {
  mkdirSync('/run/whole-proc');
  await runProcess('mount', ['-t', 'proc', 'proc', '/run/whole-proc']);
}

// The kubelet would change these settings permanently for the whole machine, so it gets files of its own in which they
// are already set.
const kernelSettings = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};

async function maskKernelSettings(): Promise<void> {
  for (const [setting, value] of Object.entries(kernelSettings)) {
    const real = join('/proc/sys', setting);
    if (!existsSync(real)) continue;
    const cover = join('/run', setting.replaceAll('/', '-'));
    writeFileSync(cover, `${value}\n`);
    await runProcess('mount', ['--bind', cover, real]);
  }
}

async function connect(layout: Layout): Promise<void> {
  await waitUntil({ what: 'the wire from the host', seconds: 20, every: 20 }, () =>
    canRun('ip', ['link', 'show', 'eth0']),
  );
  await runProcess('ip', ['link', 'set', 'lo', 'up']);
  // Clouds have their metadata here. A node that answers as well shows who can reach them, and others ask in vain.
  await runProcess('ip', ['address', 'add', '169.254.169.254/32', 'dev', 'lo']);
  await runProcess('ip', ['address', 'add', `${layout.nodeAddress}/30`, 'dev', 'eth0']);
  await runProcess('ip', ['link', 'set', 'eth0', 'up']);
  await runProcess('ip', ['route', 'add', 'default', 'via', layout.hostAddress]);
  // Each pod has a route of its own. Without this one, requests to a pod that is gone would leave the cluster, and
  // a server outside would answer in place of the pod.
  await runProcess('ip', ['route', 'add', 'unreachable', nodePodRange]);
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1');
  await runProcess('nft', ['-f', getStatePaths(layout).config('masquerade.nft')]);
}
