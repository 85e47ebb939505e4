import { parseArgs } from 'node:util';
import { UsageError } from '../errors.ts';
import { program, sayAside } from '../steps.ts';
import { clusterDown, clusterUp, type Cluster } from './cluster.ts';

const USAGE = `usage: node dev/cluster/main.ts up|down [--name gx]

  up      a cluster, unless it runs already; prints how to reach it
  down    removes the cluster and every trace of it

GX_CLUSTER=kind|native chooses the kind of cluster; by default kind where Docker answers, else native.
`;

const describe = (cluster: Cluster): string => `cluster ${cluster.name} (${cluster.kind})
  export KUBECONFIG=${cluster.kubeconfig}
  kubectl: ${cluster.kubectl}
  node ports: http://${cluster.nodeAddress}:<port>
`;

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { name: { type: 'string', default: 'gx' }, help: { type: 'boolean', short: 'h' } },
  });
  const options = { name: values.name, report: sayAside };
  if (values.help === true) return void process.stdout.write(USAGE);
  if (positionals[0] === 'up') return void process.stdout.write(describe(await clusterUp(options)));
  if (positionals[0] === 'down') return clusterDown(options);
  throw new UsageError(USAGE);
}

await program(main);
