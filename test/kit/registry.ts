import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { askRegistries, type AskRegistry } from '../../src/builder/registry/client.ts';
import {
  ensureBlob,
  computeDigest,
  putManifest,
  readBlob,
  readManifest,
  type BaseManifest,
} from '../../src/builder/registry/images.ts';
import { parseImageReference, OCI_MANIFEST } from '../../src/builder/registry/reference.ts';
import { writeLayer } from '../../src/builder/layers/layer.ts';
import { readTree } from '../../src/builder/layers/tree.ts';
import { freePort } from './agent-server.ts';
import { until } from './until.ts';

/** The registry of the local cluster, which wants a name and a password of whoever pushes. */
export type TestRegistry = {
  host: string;
  /** The folder with the config.json that it takes. */
  credentials: string;
  /** The image that agents stand on: one layer, and the settings of gx-agent-server. */
  base: string;
  ask: AskRegistry;
  manifest(name: string): Promise<{ manifest: BaseManifest; digest: string } | undefined>;
  config(name: string): Promise<ImageConfigOfTest>;
  /** Requests since the last call, as method and path. */
  requests(): string[];
  stop(): Promise<void>;
};

type ImageConfigOfTest = {
  created: string;
  config: { Env: string[]; WorkingDir: string; Labels: Record<string, string> };
};

export const REGISTRY_PASSWORD = 'canary-of-the-registry';

/**
 * Starts a registry at an address of this machine. An open one takes all pushes, for clients that look for a challenge
 * at `/v2/` alone.
 */
export async function startRegistry({
  isOpen = false,
  address = '127.0.0.1',
} = {}): Promise<TestRegistry> {
  const { registry } = await ensureTools(['registry']);
  const folder = mkdtempSync(join(tmpdir(), 'gx-registry-'));
  const host = `${address}:${await freePort()}`;
  const log = join(folder, 'log');
  writeFileSync(join(folder, 'config.yaml'), configuration(folder, host) + (isOpen ? '' : AUTH));
  const child = spawn(
    '/bin/sh',
    ['-c', `exec "${registry}" serve "${folder}/config.yaml" > "${log}" 2>&1`],
    { stdio: 'ignore' },
  );
  await until('the registry answers', async () => (await fetch(`http://${host}/v2/`)).ok);
  const credentials = join(folder, 'credentials');
  mkdirSync(credentials);
  const auth = Buffer.from(`builder:${REGISTRY_PASSWORD}`).toString('base64');
  writeFileSync(join(credentials, 'config.json'), JSON.stringify({ auths: { [host]: { auth } } }));
  const ask = askRegistries({
    plainHosts: [host],
    credentials,
    signal: new AbortController().signal,
  });
  const base = `${host}/gx/gx-agent-server:1`;
  await pushBase(ask, base, folder);
  let seen = 0;
  return {
    host,
    credentials,
    base,
    ask,
    manifest: (name) => readManifest(ask, parseImageReference(name)!),
    async config(name) {
      const place = parseImageReference(name)!;
      const found = await readManifest(ask, place);
      return (await (
        await readBlob(ask, place, found!.manifest.config.digest)
      ).json()) as ImageConfigOfTest;
    },
    requests() {
      const lines = [
        ...readFileSync(log, 'utf8').matchAll(/"(GET|HEAD|PUT|POST|PATCH) (\S+) HTTP/g),
      ].map(([, method, path]) => `${method} ${path}`);
      const fresh = lines.slice(seen);
      seen = lines.length;
      return fresh;
    },
    async stop() {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const configuration = (folder: string, host: string): string => `version: 0.1
log:
  level: error
  accesslog:
    disabled: false
storage:
  filesystem:
    rootdirectory: ${folder}/data
http:
  addr: ${host}
`;

const AUTH = `auth:
  writer:
    username: builder
    password: ${REGISTRY_PASSWORD}
`;

async function pushBase(ask: AskRegistry, name: string, folder: string): Promise<void> {
  const place = parseImageReference(name)!;
  const root = join(folder, 'base');
  mkdirSync(join(root, 'etc'), { recursive: true });
  writeFileSync(join(root, 'etc', 'base'), 'the base image\n');
  const file = join(folder, 'base.tar.gz');
  const layer = await writeLayer(file, root, readTree(root));
  const config = {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: {
      Env: ['PATH=/usr/bin', 'GX_CONFIG=/agent/gx.json'],
      WorkingDir: '/agent',
      User: '10001:10001',
      Entrypoint: ['node'],
    },
    rootfs: { type: 'layers', diff_ids: [layer.diffId] },
  };
  const bytes = new Uint8Array(Buffer.from(JSON.stringify(config)));
  const own = {
    mediaType: 'application/vnd.oci.image.config.v1+json',
    digest: computeDigest(bytes),
    size: bytes.length,
  };
  await ensureBlob(ask, place, layer, { file });
  await ensureBlob(ask, place, own, { bytes });
  const layers = [
    {
      mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
      digest: layer.digest,
      size: layer.size,
    },
  ];
  await putManifest(ask, place, place.tag!, {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    config: own,
    layers,
  });
}
