import { parseArgs } from 'node:util';
import { UsageError } from '../errors.ts';
import { runMain, printAside } from '../steps.ts';
import { EXTRAS, type Extra } from './provider.ts';
import { removeCluster, ensureCluster, type Cluster } from './cluster.ts';

const USAGE = `usage: node dev/cluster/main.ts up|down [--name gx] [--with ${EXTRAS.join(',')}]

  up      a cluster, unless it runs already; prints how to reach it
  down    removes the cluster and every trace of it
  --with  parts that no agent needs to answer: a registry, a git host, Gitea in its place, a metrics server

GX_CLUSTER=kind|native chooses the kind of cluster; by default kind where Docker answers, else native.
`;

const describe = (cluster: Cluster): string => `cluster ${cluster.name} (${cluster.kind})
  export KUBECONFIG=${cluster.kubeconfig}
  kubectl: ${cluster.kubectl}
  node ports: http://${cluster.nodeAddress}:<port>
`;

function parseExtras(list: string): Extra[] {
  const names = list.split(',').filter(Boolean);
  const unknown = names.filter((name) => !EXTRAS.some((extra) => extra === name));
  if (unknown.length > 0)
    throw new UsageError(`--with does not know ${unknown.join(', ')}.\n${USAGE}`);
  return EXTRAS.filter((extra) => names.includes(extra));
}

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      name: { type: 'string', default: 'gx' },
      with: { type: 'string', default: '' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  const options = { name: values.name, report: printAside };
  if (values.help === true) return void process.stdout.write(USAGE);
  if (positionals[0] === 'up')
    return void process.stdout.write(
      describe(await ensureCluster({ ...options, extras: parseExtras(values.with) })),
    );
  if (positionals[0] === 'down') return removeCluster(options);
  throw new UsageError(USAGE);
}

await runMain(main);
