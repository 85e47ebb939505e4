import { parseArgs } from 'node:util';
import { clusterDown, clusterStatus, clusterUp, type Cluster } from './cluster.ts';

const usage = `usage: node dev/cluster/main.ts up|down|status [--name gx]

  up      a cluster, unless it runs already; prints how to reach it
  down    removes the cluster and every trace of it
  status  how to reach the cluster; fails when there is none or it is not healthy

GX_CLUSTER=kind|native chooses the kind of cluster; by default kind where Docker answers, else native.`;

const say = (line: string) => process.stderr.write(`${line}\n`);

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
  const options = { name: values.name, report: say };
  switch (values.help === true ? 'help' : positionals[0]) {
    case 'up':
      process.stdout.write(describe(await clusterUp(options)));
      return;
    case 'down':
      return clusterDown(options);
    case 'status': {
      const cluster = await clusterStatus(options);
      if (cluster === undefined) throw new Error(`There is no healthy cluster ${values.name}.`);
      process.stdout.write(describe(cluster));
      return;
    }
    case 'help':
      process.stdout.write(`${usage}\n`);
      return;
    default:
      say(usage);
      process.exitCode = 2;
  }
}

await main().catch((error: Error) => {
  say(error.message);
  process.exitCode = 1;
});
