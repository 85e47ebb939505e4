import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { runProcess, canRun } from '../../commands.ts';
import { MissingRequirement } from '../../errors.ts';
import {
  buildLayout,
  choosePreferredSlot,
  slotCount,
  statesFolder,
  getWireNetwork,
  type Layout,
} from './layout.ts';

const forwardSetting = '/proc/sys/net/ipv4/ip_forward';
const forwardBefore = join(statesFolder, 'ip-forward-before');

/** Returns the addresses of a new cluster: its usual ones, unless the machine already uses those. */
export async function chooseLayout(name: string): Promise<Layout> {
  const first = choosePreferredSlot(name);
  const taken = await listTakenNetworks();
  for (let step = 0; step < slotCount; step += 1) {
    const slot = (first + step) % slotCount;
    const layout = buildLayout(name, slot);
    if (!taken.some((network) => network.startsWith(`10.213.${slot}.`))) return layout;
  }
  throw new MissingRequirement(
    `All networks from ${getWireNetwork(0)} to ${getWireNetwork(slotCount - 1)} are taken on this machine.`,
  );
}

async function listTakenNetworks(): Promise<string[]> {
  const routes = await runProcess('ip', ['-4', 'route', 'show', 'table', 'all']);
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return [...routes.split(/\s+/), ...addresses.map(({ address }) => address)];
}

/** Connects the host to the network namespace of process `pid`, and lets pods reach other networks. */
export async function connectNode(layout: Layout, pid: number): Promise<void> {
  const { hostInterface, hostAddress } = layout;
  await runProcess(
    'ip',
    `link add ${hostInterface} type veth peer name eth0 netns ${pid}`.split(' '),
  );
  await runProcess('ip', ['address', 'add', `${hostAddress}/30`, 'dev', hostInterface]);
  await runProcess('ip', ['link', 'set', hostInterface, 'up']);
  await runProcess('nft', ['-f', '-'], { input: buildNatRules(layout) });
  await passDocker('--insert', hostInterface);
  if (!existsSync(forwardBefore)) writeFileSync(forwardBefore, readFileSync(forwardSetting));
  writeFileSync(forwardSetting, '1');
}

const buildNatRules = ({
  hostTable,
  hostInterface,
  nodeAddress,
}: Layout): string => `table ip ${hostTable} {
  chain out {
    type nat hook postrouting priority srcnat
    ip saddr ${nodeAddress} oifname != "${hostInterface}" masquerade
  }
}
`;

/**
 * A running Docker has the machine drop forwarded packets, except for those that its chain for users' own rules
 * accepts.
 */
async function passDocker(change: '--insert' | '--delete', hostInterface: string): Promise<void> {
  if (!(await canRun('iptables', ['--wait', '--numeric', '--list', 'DOCKER-USER']))) return;
  for (const direction of ['--in-interface', '--out-interface'])
    await canRun('iptables', [
      '--wait',
      change,
      'DOCKER-USER',
      direction,
      hostInterface,
      '--jump',
      'ACCEPT',
    ]);
}

export async function detachNode(layout: Layout): Promise<void> {
  await passDocker('--delete', layout.hostInterface);
  if (await canRun('ip', ['link', 'show', layout.hostInterface])) {
    // The interface may already have gone with the node's namespace.
    await canRun('ip', ['link', 'delete', layout.hostInterface]);
  }
  await canRun('nft', ['delete', 'table', 'ip', layout.hostTable]);
}

/** Restores the machine's forwarding after the last cluster. */
export function restoreForwarding(): void {
  if (existsSync(forwardBefore)) writeFileSync(forwardSetting, readFileSync(forwardBefore));
}

/** Returns the names of the clusters that have left something on this machine. */
export function listKnownClusters(): string[] {
  if (!existsSync(statesFolder)) return [];
  const entries = readdirSync(statesFolder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

export function prepareFolders(folders: readonly string[]): void {
  for (const folder of folders) mkdirSync(folder, { recursive: true });
}
