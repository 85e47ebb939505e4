// The policy agent runs inside the node's namespaces. It ends only when it is killed, and may start again at any time.
import { setTimeout as wait } from 'node:timers/promises';
import { runProcess } from '../../../commands.ts';
import { Cache } from '../../../../src/kube/cache.ts';
import { connect } from '../../../../src/kube/client.ts';
import { kinds } from '../../../../src/kube/kinds.ts';
import type { Kind } from '../../../../src/kube/kube.ts';
import { Reflector } from '../../../../src/kube/watch.ts';
import { toError } from '../../../../src/errors.ts';
import { createLog } from '../../../../src/log.ts';
import { formatRuleset } from './ruleset.ts';
import { toNamespace, toPods, toPolicy } from './world.ts';

/** Milliseconds that a change waits for others: pods start and end in groups. */
const GATHER = 20;
/** Milliseconds after which rules that the kernel refused are tried again. */
const AGAIN = 1000;

const log = createLog({ level: 'info', process: 'policy-agent' });

async function main(kubeconfig: string): Promise<void> {
  const kube = await connect({
    fieldManager: 'policy-agent',
    userAgent: 'policy-agent',
    kubeconfig,
  });
  const observer = { relisted: () => {}, missed: () => {} };
  const createWatch = (kind: Kind): { cache: Cache; reflector: Reflector } => {
    const cache = new Cache();
    return { cache, reflector: new Reflector({ kube, kind, cache, log, observer }) };
  };
  const [namespaces, pods, policies] = [kinds.namespace, kinds.pod, kinds.networkPolicy].map(
    createWatch,
  ) as [Watched, Watched, Watched];
  const formatCurrentRuleset = (): string =>
    formatRuleset({
      namespaces: namespaces.cache.list().map(toNamespace),
      pods: pods.cache.list().flatMap(toPods),
      policies: policies.cache.list().map(toPolicy),
    });
  const all = [namespaces, pods, policies];
  for (const { reflector } of all) reflector.start();
  await Promise.all(all.map(({ reflector }) => reflector.synced));
  const changes = buildChangeWaiter(all.map(({ cache }) => cache));
  let applied = '';
  for (;;) {
    applied = await apply(formatCurrentRuleset(), applied);
    if (applied === '') await wait(AGAIN);
    else await changes.next();
  }
}

type Watched = { cache: Cache; reflector: Reflector };

/** Returns a function that waits until something has changed since the last time. */
function buildChangeWaiter(caches: Cache[]): { next(): Promise<void> } {
  let change = Promise.withResolvers<void>();
  for (const cache of caches) cache.addChangeListener(() => change.resolve());
  const waitForChange = async (): Promise<void> => {
    await change.promise;
    await wait(GATHER);
    change = Promise.withResolvers<void>();
  };
  return { next: waitForChange };
}

/**
 * Gives the kernel the rules unless it has them. Returns the rules that it was given last, or nothing if it refused.
 */
async function apply(wanted: string, applied: string): Promise<string> {
  if (wanted === applied) return applied;
  try {
    await runProcess('nft', ['-f', '-'], { input: wanted });
    log.info({ lines: wanted.split('\n').length }, 'rules applied');
    return wanted;
  } catch (error) {
    log.error({ err: toError(error) }, 'the kernel refused the rules');
    return '';
  }
}

await main(process.argv[2] ?? '');
