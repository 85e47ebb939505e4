import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import {
  parseBases,
  addDigests,
  parseRegistryPlace,
} from '../../dev/images/pin-bases/references.ts';
import { fetchImageDigest } from '../../dev/images/pin-bases/registry.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const OTHER = `sha256:${'b'.repeat(64)}`;
let server: Server | undefined;
afterEach(() => server?.close());

async function registry(answer: RequestListener): Promise<string> {
  server = createServer(answer);
  await new Promise<void>((done) => void server?.listen(0, '127.0.0.1', done));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('the bases of our Dockerfile get digests behind their tags, and others when asked again', () => {
  const text = readFileSync('Dockerfile', 'utf8');
  const bases = parseBases(text);
  expect(bases.map(({ argument }) => argument)).toEqual(['BASE', 'NPM', 'BUILDKIT']);
  const once = addDigests(text, new Map(bases.map(({ tagged }) => [tagged, DIGEST])));
  for (const { argument, tagged } of bases)
    expect(once).toContain(`ARG ${argument}=${tagged}@${DIGEST}\n`);
  expect(parseBases(once)).toEqual(bases);
  expect(addDigests(once, new Map(bases.map(({ tagged }) => [tagged, OTHER])))).toBe(
    once.replaceAll(DIGEST, OTHER),
  );
});

test('images of Docker Hub are asked for where its API is', () => {
  expect(parseRegistryPlace('docker.io/library/debian:trixie-slim')).toEqual({
    registry: 'registry-1.docker.io',
    repository: 'library/debian',
    tag: 'trixie-slim',
  });
  expect(parseRegistryPlace('registry.example:5000/debian')).toEqual({
    registry: 'registry.example:5000',
    repository: 'debian',
    tag: 'latest',
  });
});

test('a registry that gives everybody a token is asked with one', async () => {
  const host = await registry((request, response) => {
    if (request.url?.startsWith('/token?service=here&scope=repository%3Abase%3Apull') === true)
      return void response.end('{"token":"t"}');
    if (request.headers.authorization === 'Bearer t')
      return void response.setHeader('docker-content-digest', DIGEST).end();
    const challenge = `Bearer realm="http://${host}/token",service="here",scope="repository:base:pull"`;
    response.writeHead(401, { 'www-authenticate': challenge }).end();
  });
  expect(await fetchImageDigest(`${host}/base:1`, 'http')).toBe(DIGEST);
});

test('a registry without the image, and one that does not answer, are told in a sentence', async () => {
  const host = await registry((_request, response) => void response.writeHead(404).end());
  await expect(fetchImageDigest(`${host}/base:1`, 'http')).rejects.toThrow(
    `${host} answered 404 and no digest for ${host}/base:1.`,
  );
  server?.close();
  await expect(fetchImageDigest('127.0.0.1:1/base:1', 'http')).rejects.toThrow(
    "127.0.0.1:1 can't be reached from this machine",
  );
});
