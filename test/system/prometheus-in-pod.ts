import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip, constants } from 'node:zlib';
import { ensureTools } from '../../dev/cluster/parts.ts';

type Pod = { kubectl: string; kubeconfig: string; pod: string; namespace: string };

/** A target of Prometheus: where it answers, and the pod that it is. */
export type ScrapedPod = { address: string; pod: string };

const PORT = 9090;
const UNPACK = `require('node:stream').pipeline(process.stdin, require('node:zlib').createGunzip(),
  require('node:fs').createWriteStream(process.argv[1], { mode: 0o755 }), (error) => process.exit(error ? 1 : 0))`;
const START = `const { writeFileSync } = require('node:fs');
  writeFileSync('/tmp/prometheus.json', process.argv[1]);
  require('node:child_process').spawn('/tmp/prometheus', ['--config.file=/tmp/prometheus.json', '--storage.tsdb.path=/tmp/data',
    '--web.listen-address=127.0.0.1:${PORT}'], { detached: true, stdio: 'ignore' }).unref()`;
const ASK = `fetch('http://127.0.0.1:${PORT}/api/v1/targets').then((answer) => answer.text()).then(console.log)`;

type Targets = {
  data: { activeTargets: { health: string; lastError: string; labels: { pod: string } }[] };
};

/** A real Prometheus in a pod, to which policies of the network apply. */
export class PrometheusInPod {
  readonly #pod: Pod;

  constructor(pod: Pod) {
    this.#pod = pod;
  }

  /** Brings the program into the pod, which needs only Node and Debian's C library, and starts it. */
  async start(targets: readonly ScrapedPod[]): Promise<void> {
    const { prometheus } = await ensureTools(['prometheus']);
    const program = path.join(path.dirname(prometheus), 'root/usr/bin/prometheus');
    const copying = this.#exec(['node', '-e', UNPACK, '/tmp/prometheus']);
    await pipeline(
      createReadStream(program),
      createGzip({ level: constants.Z_BEST_SPEED }),
      copying.child.stdin,
    );
    await copying.output;
    const config = {
      global: { scrape_interval: '1s', scrape_timeout: '1s' },
      scrape_configs: [
        {
          job_name: 'pods',
          static_configs: targets.map(({ address, pod }) => ({
            targets: [address],
            labels: { pod },
          })),
        },
      ],
    };
    const starting = this.#exec(['node', '-e', START, JSON.stringify(config)]);
    starting.child.stdin.end();
    await starting.output;
  }

  /** Returns the health of each target (`up`, `down`, `unknown`), by the name of its pod. */
  async health(): Promise<Record<string, string>> {
    const asking = this.#exec(['node', '-e', ASK]);
    asking.child.stdin.end();
    const { data } = JSON.parse(await asking.output) as Targets;
    return Object.fromEntries(data.activeTargets.map(({ health, labels }) => [labels.pod, health]));
  }

  #exec(command: string[]) {
    const { kubectl, kubeconfig, pod, namespace } = this.#pod;
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    const child = spawn(kubectl, ['exec', '-i', pod, '--namespace', namespace, '--', ...command], {
      env,
    });
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    const output = once(child, 'close').then(([code]) => {
      if (code !== 0)
        throw new Error(
          `${command.join(' ').slice(0, 200)} ended with ${String(code)}: ${printed}`,
        );
      return printed;
    });
    return { child, output };
  }
}
