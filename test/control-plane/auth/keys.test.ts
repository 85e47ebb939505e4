import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { readControlPlaneConfig } from '../../../src/config/platform/control-plane.ts';
import { Authenticator } from '../../../src/control-plane/auth/authenticate.ts';
import { runApiKeyCommand } from '../../../src/control-plane/auth/command.ts';
import { MAC_SECRET } from '../../../src/control-plane/auth/key-mac.ts';
import { createKey } from '../../../src/control-plane/auth/keys.ts';
import { Unavailable } from '../../../src/errors.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kind, Kube } from '../../../src/kube/kube.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { auditEvents } from '../../kit/audit-log.ts';
import { silentLog } from '../../kit/log.ts';
import { openStage, type Stage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';
import { creation, startPlane, TENANT_A, TENANT_B, type Plane } from '../kit/api-server-plane.ts';

let plane: Plane;
let deployment: Deployment;
beforeAll(async () => {
  plane = await startPlane('keys');
  deployment = (await plane.call<Deployment>('POST', '/v2/deployments', { body: creation('mine') }))
    .body;
});
afterAll(() => plane.stop());

const status = async (key: string): Promise<number> =>
  (await plane.call('GET', '/v2/deployments', { key })).status;
const idIn = (note = ''): string => /Id ([0-9a-f]{16})/.exec(note)?.[1] ?? '';

/** The command as a person runs it; returns what it printed. */
async function run(...args: string[]): Promise<string[]> {
  const lines: string[] = [];
  const config = { ...readControlPlaneConfig({}), namespace: plane.namespace };
  await runApiKeyCommand(args, { kube: plane.kube, config, out: (line) => lines.push(line) });
  return lines;
}
const rowOf = async (id: string): Promise<string> =>
  (await run('list')).find((line) => line.startsWith(id)) ?? '';

describe('api-key', () => {
  test('makes a key that opens the API, lists it without its value, and revokes it', async () => {
    const [key = '', note] = await run('create', '--name', 'ci', '--role', 'read');
    const id = idIn(note);
    expect(key).toMatch(/^gx_[\w-]{65}$/);
    expect(await status(key)).toBe(200);
    expect(await rowOf(id)).toMatch(/ read .* never .* ci$/);
    expect((await run('list')).join()).not.toContain(key);
    expect(
      JSON.stringify(await plane.kube.listAll(kinds.secret, { namespace: plane.namespace })),
    ).not.toContain(Buffer.from(key).toString('base64'));
    expect(await run('revoke', id)).toEqual([expect.stringContaining(`Key ${id} is revoked`)]);
    await expect(run('revoke', id)).rejects.toMatchObject({ name: 'StartError' });
  });

  test('lists when a key was last used', async () => {
    const [key = '', note] = await run('create', '--name', 'seldom');
    expect(await rowOf(idIn(note))).toMatch(/ never +never +seldom$/);
    await status(key);
    await until('the use is stored', async () =>
      / never +20\d\d-[-\d]+T[:\d]+Z +seldom$/.test(await rowOf(idIn(note))),
    );
  });

  test('makes a key that expires, and shows when', async () => {
    const [key = '', note] = await run('create', '--name', 'brief', '--expires', '90d');
    expect(note).toMatch(/, expires 20\d\d-/);
    expect(await status(key)).toBe(200);
    const over = await createKey(plane.kube, plane.namespace, {
      name: 'over',
      tenantId: TENANT_A,
      role: 'read',
      expiresAt: '2020-01-01T00:00:00Z',
    });
    const { status: refused, body } = await plane.call<{ detail: string }>(
      'GET',
      '/v2/deployments',
      { key: over.key },
    );
    expect([refused, body.detail]).toEqual([401, 'The API key has expired.']);
    expect(await rowOf(over.id)).toMatch(/ expired +never +over$/);
  });

  test('a key that is revoked ends the stream that it opened', async () => {
    const [key = '', note] = await run('create', '--name', 'follower', '--role', 'read');
    const stream = await fetch(`${plane.url}/v2/deployments/${deployment.id}/events`, {
      headers: { 'x-api-key': key },
    });
    expect(stream.status).toBe(200);
    await run('revoke', idIn(note));
    expect(await stream.text()).toMatch(
      /^event: deployment[^]*event: end\r\ndata: \{"reason":"refused"\}\s*$/,
    );
  });

  test('prints the key alone when asked to be quiet', async () => {
    expect(await run('create', '--name', 'x', '--quiet')).toEqual([expect.stringMatching(/^gx_/)]);
  });

  test.each([
    [['create']],
    [['create', '--name', 'a\nb']],
    [['create', '--name', 'a', '--role', 'root']],
    [['create', '--name', 'a', '--tenant', 'x']],
    [['create', '--name', 'a', '--expires', 'soon']],
    [['create', '--name', 'a', '--expires', '2020-01-01']],
    [['revoke']],
    [['dance']],
    [['list', '--nope']],
  ])('refuses %j with a sentence', async (args) => {
    await expect(run(...args)).rejects.toMatchObject({ name: 'StartError' });
  });
});

describe('a forged key', () => {
  const forged = (): string => `gx_${randomBytes(49).toString('base64url').slice(0, 65)}`;
  const shapes: [string, () => string][] = [
    ['with a MAC of its own', forged],
    ['without a MAC', () => forged().slice(0, 46)],
    ['of no form', () => randomBytes(300).toString('hex')],
  ];

  test.each(shapes)('%s is refused without a read of the API server', async (_shape, make) => {
    const agent = `gx-control-plane/keys`;
    await status(forged());
    const before = auditEvents(inject('auditLog'), agent).length;
    const answers = await Promise.all(Array.from({ length: 200 }, () => status(make())));
    expect(new Set(answers)).toEqual(new Set([401]));
    // Watches go on meanwhile; keys are Secrets.
    const since = auditEvents(inject('auditLog'), agent).slice(before);
    expect(since.filter(({ objectRef }) => objectRef?.resource === 'secrets')).toEqual([]);
  });

  test('in any number displaces no real key', async () => {
    const { ask, reads } = gateWith(plane);
    await ask(plane.keys.read);
    for (let i = 0; i < 12_000; i += 1) await ask(forged()).catch(() => undefined);
    await ask(plane.keys.read);
    // The real key, and the Secret of the MAC.
    expect(reads()).toBe(2);
  });
});

const NEW = { name: 'new', tenantId: TENANT_B, role: 'read' } as const;

/** The gate on a namespace's keys, with its own clock, a count of its reads, and an API server that may be away. */
function gateWith({ kube, namespace }: Pick<Stage, 'kube' | 'namespace'>, away = { now: false }) {
  let time = 0;
  let read = 0;
  const find = (async (...args: Parameters<Kube['find']>) => {
    if (args[0].kind === 'Secret') read += 1;
    if (away.now) throw new Unavailable('away');
    return kube.find(...args);
  }) as Kube['find'];
  const store = {
    find,
    create: kube.create.bind(kube),
    replace: kube.replace.bind(kube),
  } as Partial<Kube> as Kube;
  const gate = new Authenticator({ kube: store, namespace, log: silentLog(), clock: () => time });
  const ask = (key: string) => gate.authenticate({ 'x-api-key': key }, 'read');
  return { ask, reads: () => read, pass: (milliseconds: number) => (time += milliseconds) };
}

describe('a key', () => {
  test('is read from the cluster once in three and a half seconds', async () => {
    const { ask, reads, pass } = gateWith(plane);
    await Promise.all([ask(plane.keys.read), ask(plane.keys.read)]);
    await ask(plane.keys.read);
    expect(reads()).toBe(2);
    pass(3501);
    expect(await ask(plane.keys.read)).toMatchObject({
      tenantId: TENANT_A,
      role: 'read',
      keyName: 'reader',
    });
    expect(reads()).toBe(3);
  });

  test('that was revoked is refused at its next check, and costs no read for each further try', async () => {
    const { ask, reads, pass } = gateWith(plane);
    const { key, id } = await createKey(plane.kube, plane.namespace, NEW);
    await ask(key);
    await run('revoke', id);
    pass(3501);
    for (let i = 0; i < 10; i += 1) await expect(ask(key)).rejects.toMatchObject({ status: 401 });
    expect(reads()).toBe(3);
  });

  test('is believed for a minute while the API server is away, then nobody is', async () => {
    const away = { now: false };
    const { ask, pass } = gateWith(plane, away);
    await ask(plane.keys.read);
    away.now = true;
    pass(59_000);
    expect((await ask(plane.keys.read)).keyName).toBe('reader');
    await expect(ask(plane.keys.write)).rejects.toMatchObject({ status: 503 });
    pass(2000);
    await expect(ask(plane.keys.read)).rejects.toMatchObject({ status: 503 });
    away.now = false;
    pass(1000);
    expect((await ask(plane.keys.read)).keyName).toBe('reader');
  });

  test('is looked up on connections of its own: no read of another kind keeps it waiting', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    // A method of the client is bound to it, because its fields are private.
    const held = (kube: Kube): Kube =>
      new Proxy(kube, {
        get: (target, name) => {
          const method = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
          if (name !== 'find') return method.bind(target);
          return async (kind: Kind, ...args: unknown[]) => {
            // The start needs the labels of namespaces.
            if (kind.kind !== 'Namespace') await released;
            return method.call(target, kind, ...args);
          };
        },
      });
    const busy = await startPlane('busy', {}, { through: held });
    expect((await busy.call('GET', '/v2/deployments', { key: busy.keys.read })).status).toBe(200);
    release();
    await busy.stop();
  });

  test('can be checked only with the MAC secret; a damaged one is told, not taken for no key', async () => {
    const stage = await openStage('damaged-mac');
    const { key } = await createKey(stage.kube, stage.namespace, NEW);
    const metadata = { name: MAC_SECRET, namespace: stage.namespace };
    await stage.kube.delete(kinds.secret, metadata);
    await stage.kube.create(kinds.secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata,
      stringData: { mac: 'x' },
    });
    await expect(gateWith(stage).ask(key)).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining(MAC_SECRET),
    });
    await stage.stop();
  });
});
