import process from 'node:process';
import { askRegistries } from '../../src/builder/registry/client.ts';
import { S3Store } from '../../src/backup/s3/store.ts';
import { readProxies } from '../../src/config/proxies.ts';
import { readProcessEnv, SettingsReader } from '../../src/config/env.ts';
import { fetchFromHost } from '../../src/git/host.ts';
import { buildGitPlaces } from '../../src/git/places.ts';
import { Lookups } from '../../src/http/outgoing/lookups.ts';
import { fetchIssuerDocument } from '../../src/tokens/issuer-document.ts';
import { findWay } from '../../src/http/outgoing/checked-request.ts';
import { sendPost } from '../../src/agent/webhooks/post.ts';
import { readTracingSettings } from '../../src/config/tracing.ts';
import { toError } from '../../src/errors.ts';
import { OtlpExporter } from '../../src/tracing/exporter.ts';

/* Asks as the processes of the platform do, in an environment as the chart and the operator give it, and prints how. */
const { signal } = new AbortController();
const read = new SettingsReader(readProcessEnv());
const proxies = readProxies(read);
const places = buildGitPlaces({ gitHosts: [], gitIntegrations: [] }, new Lookups(proxies));
const target = {
  endpoint: 'https://s3.company.test',
  bucket: 'b',
  region: 'eu-1',
  prefix: '',
  pathStyle: true,
};
const asks: Record<string, () => Promise<unknown>> = {
  git: () =>
    fetchFromHost(
      { host: 'https://git.company.test', places },
      { url: 'https://git.company.test/', signal },
    ),
  issuer: () => fetchIssuerDocument('https://login.company.test/keys', { proxies }),
  registry: async () => {
    const ask = askRegistries({ plainHosts: [], credentials: '/nowhere', signal });
    return (await ask('registry.company.test', '/v2/')).text();
  },
  store: () =>
    new S3Store(target, { accessKeyId: 'a', secretAccessKey: 'b' }, { signal, pauses: [] }).read(
      'catalogue',
    ),
  webhook: async () => {
    const url = new URL('https://hooks.company.test/run');
    const lookups = new Lookups(proxies);
    const way = await findWay(url, {
      isListed: false,
      proxies,
      addressesOf: (host) => lookups.resolveAddresses(host),
    });
    if ('problem' in way) throw new Error(way.problem);
    const outcome = await sendPost(
      { url, way, headers: {}, body: '{}' },
      { connect: 5000, whole: 10_000, signal },
    );
    if (!outcome.sent) throw new Error(outcome.problem);
  },
  collector: async () => {
    let problem = 'it names no collector';
    const settings = readTracingSettings(read);
    if (settings === undefined) throw new Error(problem);
    const complain = (words: string): void => void (problem = words);
    const exporter = new OtlpExporter<string>({
      settings,
      type: 'application/json',
      body: () => '{}',
      complain,
    });
    exporter.add(['a span']);
    await exporter.close();
    if (exporter.counts.exported === 0) throw new Error(problem);
  },
  refused: () =>
    fetchFromHost(
      { host: 'https://other.company.test', places },
      { url: 'https://other.company.test/', signal },
    ),
};
const ends = Object.entries(asks).map(async ([name, ask]) => [
  name,
  await ask().then(
    () => 'answered',
    (error: unknown) => toError(error).message,
  ),
]);
process.stdout.write(JSON.stringify(Object.fromEntries(await Promise.all(ends))));
