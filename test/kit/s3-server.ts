import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureTools } from '../../dev/cluster/parts.ts';
import type { S3Target } from '../../src/schema/wire/backup-message.ts';
import { freePort } from './agent-server.ts';
import { until } from './until.ts';

export const S3_KEYS = { accessKeyId: 'a-key-id', secretAccessKey: 'a-secret-key' };

/** A real server that speaks S3, with one bucket, whose objects are files of a folder. */
export type S3Server = {
  target: S3Target;
  /** Returns the keys of all objects. */
  keys(): Promise<string[]>;
  /** Returns the content of an object. */
  content(key: string): Promise<Buffer>;
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
};

type Where = {
  /** The address at which it listens. */
  address?: string;
  /** With a certificate and its key it speaks TLS alone. */
  tls?: { certificate: string; key: string };
  /** A credential beside the administrator's, which may do nothing by itself. */
  user?: typeof S3_KEYS;
  /** The policy that the bucket has from the start. */
  policy?: object;
};

/** Writes the file in which the server looks for credentials, and returns the flag that says so. */
async function usersIn(
  folder: string,
  { accessKeyId: access, secretAccessKey: secret }: typeof S3_KEYS,
): Promise<string[]> {
  await mkdir(folder);
  const account = { access, secret, role: 'user', userID: 1, groupID: 1, projectID: 1 };
  await writeFile(
    join(folder, 'users.json'),
    JSON.stringify({ accessAccounts: { [access]: account } }),
  );
  return ['--iam-dir', folder];
}

export async function startS3Server({
  address = '127.0.0.1',
  tls,
  user,
  policy,
}: Where = {}): Promise<S3Server> {
  const { versitygw } = await ensureTools(['versitygw']);
  const folder = await mkdtemp(join(tmpdir(), 'gx-s3-'));
  const [bucket, port] = ['backups', await freePort()];
  await mkdir(join(folder, 'data', bucket), { recursive: true });
  await mkdir(join(folder, 'meta'));
  const { accessKeyId, secretAccessKey } = S3_KEYS;
  const endpoint = `${tls === undefined ? 'http' : 'https'}://${address}:${port}`;
  const flags = [
    '--port',
    `${address}:${port}`,
    '--access',
    accessKeyId,
    '--secret',
    secretAccessKey,
    '--region',
    'eu-test-1',
    '--quiet',
  ];
  for (const [flag, text] of Object.entries({ cert: tls?.certificate, key: tls?.key }).filter(
    ([, given]) => given !== undefined,
  )) {
    await writeFile(join(folder, `${flag}.pem`), text ?? '');
    flags.push(`--${flag}`, join(folder, `${flag}.pem`));
  }
  if (policy !== undefined) {
    await mkdir(join(folder, 'meta', bucket, 'meta'), { recursive: true });
    await writeFile(join(folder, 'meta', bucket, 'meta', 'policy'), JSON.stringify(policy));
  }
  if (user !== undefined) flags.push(...(await usersIn(join(folder, 'users'), user)));
  const run = () =>
    spawn(versitygw, [...flags, 'posix', '--sidecar', join(folder, 'meta'), join(folder, 'data')], {
      stdio: 'ignore',
    });
  let server = run();
  const isAway = (): boolean => server.exitCode !== null || server.signalCode !== null;
  const answers = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect({ host: address, port }, () => (socket.destroy(), resolve(true)));
      socket.on('error', () => resolve(false));
    });
  const start = async (): Promise<void> => {
    if (isAway()) server = run();
    await until('the S3 server answers', answers);
  };
  const kill = async (): Promise<void> => {
    if (isAway()) return;
    const closed = once(server, 'exit');
    server.kill('SIGKILL');
    await closed;
  };
  const keys = async (): Promise<string[]> => {
    const found = await readdir(join(folder, 'data', bucket), {
      recursive: true,
      withFileTypes: true,
    });
    const files = found
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name));
    return files
      .map((path) => path.slice(join(folder, 'data', bucket).length + 1))
      .filter((key) => !key.startsWith('.'))
      .toSorted();
  };
  await start();
  return {
    target: { endpoint, bucket, region: 'eu-test-1', prefix: 'gx', pathStyle: true },
    keys,
    content: (key) => readFile(join(folder, 'data', bucket, key)),
    kill,
    start,
    stop: async () => {
      await kill();
      await rm(folder, { recursive: true });
    },
  };
}
