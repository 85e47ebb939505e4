import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { until } from './until.ts';

/** An operator in a process of its own, as in a pod. It can be killed, or stopped in the middle of anything. */
export type OperatorProcess = {
  identity: string;
  /** Resolves when the Lease has its name. */
  leading(seconds?: number): Promise<true>;
  signal(signal: NodeJS.Signals): void;
  /** Returns how it ended, or undefined while it runs. */
  end(): { code: number | null; signal: NodeJS.Signals | null } | undefined;
  /** Kills it with SIGKILL, whatever it is doing. */
  kill(): Promise<void>;
};

type Given = {
  kube: Kube;
  namespace: string;
  kubeconfig: string;
  identity: string;
  lease?: string;
  env?: Record<string, string>;
};

/** Ends the process when its standard input does, which is when this process ends in any way. */
const LEASH = 'process.stdin.on("end", () => process.exit()).resume(); process.stdin.unref();';

export function operatorProcess(given: Given): OperatorProcess {
  const { kube, namespace, kubeconfig, identity, lease = 'gx-operator', env = {} } = given;
  const log = openSync(join(tmpdir(), `gx-operator-${namespace}-${identity}.log`), 'w');
  const child = spawn(
    process.execPath,
    ['--import', `data:text/javascript,${LEASH}`, 'src/main.ts', 'operator'],
    {
      stdio: ['pipe', log, log],
      env: {
        PATH: process.env.PATH,
        KUBECONFIG: kubeconfig,
        ...COMPILE_CACHE,
        GX_PROFILE: 'small',
        GX_SERVER_HOST: '127.0.0.1',
        GX_HEALTH_PORT: '0',
        GX_NAMESPACE: namespace,
        GX_WATCH_NAMESPACES: namespace,
        GX_IDENTITY: identity,
        GX_LEASE_NAME: lease,
        GX_IMAGE_PULL_PATIENCE_SECONDS: '1',
        ...env,
      },
    },
  );
  const ended = once(child, 'exit');
  return {
    identity,
    leading: (seconds) =>
      until(
        `${identity} leads`,
        async () => (await holderOf(kube, namespace, lease)) === identity,
        seconds,
      ),
    signal: (signal) => void child.kill(signal),
    end: () => endOf(child),
    kill: async () => {
      if (endOf(child) !== undefined) return;
      child.kill('SIGKILL');
      await ended;
    },
  };
}

const endOf = ({ exitCode, signalCode }: ChildProcess) =>
  exitCode === null && signalCode === null ? undefined : { code: exitCode, signal: signalCode };

/** Returns who leads, or undefined if nobody does. */
export async function holderOf(
  kube: Kube,
  namespace: string,
  lease = 'gx-operator',
): Promise<string | undefined> {
  const { spec } = await kube.get(kinds.lease, { namespace, name: lease });
  return (spec as { holderIdentity?: string }).holderIdentity;
}
