import { randomBytes } from 'node:crypto';
import {
  createAuthority,
  createCertificate,
} from '../../src/operator/database/own/tls/certificate.ts';
import { until } from '../kit/until.ts';
import { conditionOf, NAMESPACE } from './agents.ts';
import type { Scene } from './fault.ts';

type Pair = Parameters<typeof createCertificate>[0];
type SecretData = { data: Record<string, string> };

const DAY = 86_400_000;
const hostOf = (name: string): [string] => [`${name}-db`];

/** Suspends a deployment, so that the operator does not repair its certificate at once. */
export async function suspend(scene: Scene, name: string): Promise<void> {
  await scene.kubectl(
    'patch',
    'gxd',
    name,
    '-n',
    NAMESPACE,
    '--type=merge',
    '-p',
    '{"spec":{"suspend":true}}',
  );
  await until(
    'it is suspended',
    async () => (await conditionOf(scene, name, 'Suspended'))?.status === 'True',
  );
}

/** Puts another certificate into the Secret of a database. */
async function serve({ kubectl }: Scene, name: string, { certificate, key }: Pair): Promise<void> {
  const stringData = { 'tls.crt': certificate, 'tls.key': key };
  await kubectl(
    'patch',
    'secret',
    `${name}-db-tls`,
    '-n',
    NAMESPACE,
    '--type=merge',
    '-p',
    JSON.stringify({ stringData }),
  );
}

/** Gives a database a certificate that another authority has signed, which its agents do not know. */
export const serveForeign = (scene: Scene, name: string): Promise<void> => {
  const making = { now: new Date(), random: randomBytes };
  return serve(
    scene,
    name,
    createCertificate(
      createAuthority('an authority of somebody else', making),
      hostOf(name),
      making,
    ),
  );
};

/** Gives a database a certificate of its own authority that was made so many days ago. Returns when it expires. */
export async function serveOld(scene: Scene, name: string, days: number): Promise<Date> {
  const { data } = await scene.kubectl.json<SecretData>(
    'get',
    'secret',
    `${name}-db-ca`,
    '-n',
    NAMESPACE,
  );
  const read = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString();
  const making = { now: new Date(Date.now() - days * DAY), random: randomBytes };
  const made = createCertificate(
    { certificate: read('ca.crt'), key: read('ca.key') },
    hostOf(name),
    making,
  );
  await serve(scene, name, made);
  return made.until;
}

/** Returns the certificate that a database has now. */
export async function certificateOf({ kubectl }: Scene, name: string): Promise<string> {
  const { data } = await kubectl.json<SecretData>(
    'get',
    'secret',
    `${name}-db-tls`,
    '-n',
    NAMESPACE,
  );
  return Buffer.from(data['tls.crt'] ?? '', 'base64').toString();
}
