import process from 'node:process';
import { askRegistries } from '../../src/builder/registry/client.ts';
import { S3Store } from '../../src/backup/s3/store.ts';
import { readProxies } from '../../src/config/proxies.ts';
import { processEnv, SettingsReader } from '../../src/config/env.ts';
import { bytesFrom } from '../../src/git/host.ts';
import { gitPlaces } from '../../src/git/places.ts';
import { Lookups } from '../../src/http/lookups.ts';
import { issuerDocument } from '../../src/tokens/issuer-document.ts';
import { findWay } from '../../src/http/checked-request.ts';
import { post } from '../../src/agent/webhooks/post.ts';
import { tracingSettings } from '../../src/config/tracing.ts';
import { asError } from '../../src/errors.ts';
import { OtlpExporter } from '../../src/tracing/exporter.ts';

/* Asks as the processes of the platform do, in an environment as the chart and the operator give it, and prints how. */
const { signal } = new AbortController();
const read = new SettingsReader(processEnv());
const proxies = readProxies(read);
const places = gitPlaces({ gitHosts: [], gitIntegrations: [] }, new Lookups(proxies));
const target = { endpoint: 'https://s3.company.test', bucket: 'b', region: 'eu-1', prefix: '', pathStyle: true };
const asks: Record<string, () => Promise<unknown>> = {
  git: () => bytesFrom({ host: 'https://git.company.test', places }, { url: 'https://git.company.test/', signal }),
  issuer: () => issuerDocument('https://login.company.test/keys', { proxies }),
  registry: async () => {
    const ask = askRegistries({ plainHosts: [], credentials: '/nowhere', signal });
    return (await ask('registry.company.test', '/v2/')).text();
  },
  store: () => new S3Store(target, { accessKeyId: 'a', secretAccessKey: 'b' }, { signal, pauses: [] }).read('catalogue'),
  webhook: async () => {
    const url = new URL('https://hooks.company.test/run');
    const lookups = new Lookups(proxies);
    const way = await findWay(url, { isListed: false, proxies, addressesOf: (host) => lookups.addressesOf(host) });
    if ('problem' in way) throw new Error(way.problem);
    const outcome = await post({ url, way, headers: {}, body: '{}' }, { connect: 5000, whole: 10_000, signal });
    if (!outcome.sent) throw new Error(outcome.problem);
  },
  collector: async () => {
    let problem = 'it names no collector';
    const settings = tracingSettings(read);
    if (settings === undefined) throw new Error(problem);
    const complain = (words: string): void => void (problem = words);
    const exporter = new OtlpExporter<string>({ settings, type: 'application/json', body: () => '{}', complain });
    exporter.add(['a span']);
    await exporter.close();
    if (exporter.counts.exported === 0) throw new Error(problem);
  },
  refused: () => bytesFrom({ host: 'https://other.company.test', places }, { url: 'https://other.company.test/', signal }),
};
const ends = Object.entries(asks).map(async ([name, ask]) => [
  name,
  await ask().then(
    () => 'answered',
    (error: unknown) => asError(error).message,
  ),
]);
process.stdout.write(JSON.stringify(Object.fromEntries(await Promise.all(ends))));
