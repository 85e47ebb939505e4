import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { runProcess } from '../../../dev/commands.ts';
import { extendEnvironment } from '../../../dev/env.ts';
import { until } from '../../kit/until.ts';
import type { Fault, Scene } from '../fault.ts';

/** Milliseconds for which the key is good. */
const LIFE = 10_000;
const MADE_AGAIN = 'pipeline';

/** Returns the key that a command printed, and its id. */
function keyIn(printed: string): { key: string; id: string } {
  const [, key = '', id = ''] = /^(\S+)\nId ([0-9a-f]{16})/m.exec(printed) ?? [];
  if (key === '') throw new Error(`no key was printed: ${printed}`);
  return { key, id };
}

/** Makes a key that expires soon. Returns it, and its id. */
async function shortLived({ system }: Scene): Promise<{ key: string; id: string }> {
  const expires = new Date(Date.now() + LIFE).toISOString();
  const args = [
    'api-key',
    'create',
    '--name',
    MADE_AGAIN,
    '--role',
    'read',
    '--expires',
    expires,
    '--namespace',
    'gx-system',
  ];
  const printed = await runProcess(process.execPath, ['src/main.ts', ...args], {
    env: extendEnvironment({ KUBECONFIG: system.kubeconfig }),
  });
  return keyIn(printed);
}

export const expiredKey: Fault = {
  name: 'an API key that has expired and is used on',
  plant: async (scene) => {
    const { api, kubectl } = scene;
    const call = (key: string): Promise<Response> =>
      fetch(`${api.url}/v2/deployments?limit=1`, { headers: { 'x-api-key': key } });
    const { key, id } = await shortLived(scene);
    await wait(LIFE);
    const answer = await until('it is refused', async () => {
      const refused = await call(key);
      return refused.status === 401 && refused.text();
    });
    if (!answer.includes('expired')) throw new Error(answer);
    for (let at = 0; at < 9; at += 1) await call(key);
    const made = new Set<string>();
    return {
      labels: { reason: 'ExpiredKey' },
      variables: { NAME: MADE_AGAIN, ROLE: 'read', ID: id },
      isCured: async (printed) => {
        const another = keyIn(printed);
        made.add(another.id);
        return (
          (await call(another.key)).ok && !(await (await call(key)).text()).includes('expired')
        );
      },
      remove: () =>
        kubectl(
          'delete',
          'secret',
          '-n',
          'gx-system',
          '--ignore-not-found',
          ...[id, ...made].map((one) => `gx-api-key-${one}`),
        ),
    };
  },
  found: { alert: 'GxExpiredKeyUsed', seconds: 60 },
  page: { file: 'expired-key-used.md', entry: 'another key' },
  cured: { seconds: 60, alertLasts: true },
};
