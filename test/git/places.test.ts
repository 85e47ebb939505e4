import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { requireAllowedHost } from '../../src/control-plane/git/connections.ts';
import { fetchHeadCommit } from '../../src/git/ls-refs.ts';
import { buildGitPlaces, type GitPlaces } from '../../src/git/places.ts';
import { listGitRepositories } from '../../src/git/repositories.ts';
import { Lookups } from '../../src/http/outgoing/lookups.ts';

/* The owner of a name decides which address it has, and may change it once a connection is made. */
const signal = new AbortController().signal;
const PUBLIC = '203.0.113.7';

let server: Server;
let reached: number;
let port: number;
/** What the name of the git host means now. */
let meaning: string[];
const lookups = new Lookups(undefined, async () =>
  meaning.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
);

const serve = async (given: Server): Promise<void> => {
  server = given.on('connection', () => (reached += 1));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ({ port } = server.address() as AddressInfo);
};
beforeEach(async () => {
  reached = 0;
  await serve(createServer((socket) => socket.on('error', () => undefined).end()));
});
afterEach(() => void server.close());

const NOTHING = { gitHosts: [], gitIntegrations: [] };
const host = () => `https://git.example:${port}`;
const ask = (places: GitPlaces) =>
  fetchHeadCommit({ host: host(), url: `${host()}/team/chat`, places }, 'main', signal);
const list = (places: GitPlaces) => {
  const integration = {
    id: 'one',
    tenantId: 'a',
    name: 'acme',
    installationId: 0,
    kind: 'gitea' as const,
    host: host(),
  };
  return listGitRepositories({
    integration,
    token: { token: 'secret', isApp: false },
    places,
    signal,
  });
};

test.each([
  ['the head of a branch', ask],
  ['repositories', list],
])(
  'a host whose name was public when it was connected, and is private now, is not asked for %s',
  async (_, request) => {
    meaning = [PUBLIC];
    expect(
      await requireAllowedHost({ name: 'acme', kind: 'gitea', host: host() }, [], lookups),
    ).toBe(host());
    meaning = ['127.0.0.1'];
    await expect(request(buildGitPlaces(NOTHING, lookups))).rejects.toMatchObject({
      name: 'Rejected',
      message: `The git host ${host()} leads to a loopback address, which its host is not listed for (GX_GIT_HOSTS).`,
    });
    expect(reached).toBe(0);
  },
);

test.each([
  ['a private address beside a public one', [PUBLIC, '10.0.0.9']],
  ['an address in IPv6 that stands for this machine', ['::ffff:127.0.0.1']],
  ['the metadata of a cloud', ['169.254.169.254']],
])('a host is not asked that has %s', async (_, addresses) => {
  meaning = addresses;
  await expect(ask(buildGitPlaces(NOTHING, lookups))).rejects.toMatchObject({ name: 'Rejected' });
});

const entry = { id: '44444444-4444-4444-8444-444444444444', name: 'own', installation_id: 0 };
test.each([
  ['its list of hosts', (url: string) => ({ ...NOTHING, gitHosts: [url] })],
  [
    'a connection of its own',
    (url: string) => ({ ...NOTHING, gitIntegrations: [{ ...entry, host: `${url}/sub/` }] }),
  ],
  [
    'the API of one',
    (url: string) => ({ ...NOTHING, gitIntegrations: [{ ...entry, api_url: `${url}/api` }] }),
  ],
  [
    'a repository of one',
    (url: string) => ({
      ...NOTHING,
      gitIntegrations: [
        {
          ...entry,
          repos: [{ id: 1, name: 'x', owner: 'y', url: `${url}/x/y`, default_branch: 'main' }],
        },
      ],
    }),
  ],
])(
  'a host that the installation names by %s is asked wherever it is, and no other port of it',
  async (_, named) => {
    meaning = ['127.0.0.1'];
    await expect(ask(buildGitPlaces(named(host()), lookups))).rejects.toMatchObject({
      name: 'Unavailable',
    });
    expect(reached).toBe(1);
    await expect(
      ask(buildGitPlaces(named('https://git.example:1'), lookups)),
    ).rejects.toMatchObject({ name: 'Rejected' });
    expect(reached).toBe(1);
  },
);

test('a host that sends on to itself is looked up again, and not asked if it has moved inside by then', async () => {
  server.close();
  const onward: RequestListener = (_request, response) => {
    response.writeHead(302, { location: '/elsewhere' }).end();
  };
  await serve(createHttpServer(onward));
  meaning = ['127.0.0.1'];
  let looks = 0;
  const places = {
    isListed: () => (looks += 1) === 1,
    resolveAddresses: (name: string) => lookups.resolveAddresses(name),
  };
  const url = `http://git.example:${port}`;
  await expect(
    fetchHeadCommit({ host: url, url: `${url}/team/chat`, places }, 'main', signal),
  ).rejects.toMatchObject({ name: 'Rejected' });
  expect([looks, reached]).toEqual([2, 1]);
});
