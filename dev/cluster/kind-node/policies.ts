import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeFileSync } from 'node:fs';
import { runProcess } from '../../commands.ts';

/*
 * Runs among an engine's containers: gives each kind node the native cluster's policy agent, in the node's own network,
 * because the image of packages has no network plugin that holds pods to their policies.
 */

const AGENT = join(import.meta.dirname, '..', 'native', 'policies', 'agent.ts');

async function main(folder: string): Promise<void> {
  const agents = new Map<string, ChildProcess>();
  for (;;) {
    const listed = await runProcess('docker', [
      'ps',
      '--quiet',
      '--no-trunc',
      '--filter',
      'name=-control-plane',
    ]).catch(() => '');
    const nodes = listed.split('\n').filter(Boolean);
    for (const node of nodes.filter((one) => !agents.has(one))) {
      const agent = await startAgent(node, folder);
      if (agent !== undefined)
        agents.set(
          node,
          agent.on('close', () => agents.delete(node)),
        );
    }
    for (const [node, agent] of agents) if (!nodes.includes(node)) agent.kill();
    await sleep(500);
  }
}

/** Starts the agent of a node, or returns undefined as long as the node has no API server. */
async function startAgent(node: string, folder: string): Promise<ChildProcess | undefined> {
  const config = await runProcess('docker', [
    'exec',
    node,
    'cat',
    '/etc/kubernetes/admin.conf',
  ]).catch(() => undefined);
  const pid = (
    await runProcess('docker', ['inspect', '--format', '{{.State.Pid}}', node]).catch(() => '0')
  ).trim();
  if (config === undefined || pid === '0') return undefined;
  const kubeconfig = join(folder, `${node.slice(0, 12)}.kubeconfig`);
  // In the node's network the API server is at the loopback address, which its certificate names.
  writeFileSync(kubeconfig, config.replace(/server: .*/, 'server: https://127.0.0.1:6443'), {
    mode: 0o600,
  });
  return spawn(
    'nsenter',
    [`--net=/proc/${pid}/ns/net`, '--', process.execPath, AGENT, kubeconfig],
    { stdio: ['ignore', 2, 2] },
  );
}

await main(process.argv[2] ?? '');
