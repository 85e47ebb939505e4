import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { kinds, type Kube, type KubeObject } from '../../kube/kube.ts';
import { API_KEY, PART_OF } from '../../schema/labels.ts';
import type { Role } from '../caller.ts';

/*
 * A key is 256 random bits, so its plain SHA-256 can be neither guessed nor reversed. The Secret with the hash is named
 * by the beginning of the hash, so that checking a key is one read by name.
 */

const PREFIX = 'gx_';
const ID_LENGTH = 16;

export type ApiKey = { id: string; name: string; tenantId: string; role: Role; createdAt: string };

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');
const idOf = (hash: string): string => hash.slice(0, ID_LENGTH);
const objectName = (id: string): string => `gx-api-key-${id}`;
const decoded = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString('utf8');

type KeySecret = KubeObject & { data?: Record<string, string> };

function keyOf({ metadata, data = {} }: KeySecret): ApiKey & { hash: string } {
  return {
    id: metadata.labels?.[API_KEY] ?? '',
    hash: decoded(data.hash),
    name: decoded(data.name),
    tenantId: decoded(data.tenantId),
    role: decoded(data.role) === 'write' ? 'write' : 'read',
    createdAt: metadata.creationTimestamp ?? '',
  };
}

/** Makes a key, stores its hash, and returns the key. Nobody can see the key again afterwards. */
export async function createKey(
  kube: Kube,
  namespace: string,
  key: { name: string; tenantId: string; role: Role },
): Promise<ApiKey & { key: string }> {
  const secret = `${PREFIX}${randomBytes(32).toString('base64url')}`;
  const hash = hashOf(secret);
  const id = idOf(hash);
  const stored = await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: objectName(id), namespace, labels: { [API_KEY]: id, [PART_OF]: 'gx-platform' } },
    type: 'Opaque',
    immutable: true,
    stringData: { hash, ...key },
  });
  return { id, ...key, createdAt: stored.metadata.creationTimestamp ?? '', key: secret };
}

export async function listKeys(kube: Kube, namespace: string): Promise<ApiKey[]> {
  const secrets = await kube.all(kinds.secret, { namespace, labelSelector: API_KEY });
  return secrets.map((secret) => keyOf(secret)).map(({ hash: _hash, ...key }) => key);
}

/** Deletes a key. Returns false if there is no key with this id. */
export const revokeKey = (kube: Kube, namespace: string, id: string): Promise<boolean> =>
  kube.delete(kinds.secret, { namespace, name: objectName(id) });

/** Returns whose key it is, or undefined if it was never made or was revoked. */
export async function lookUpKey(kube: Kube, namespace: string, key: string): Promise<ApiKey | undefined> {
  const hash = hashOf(key);
  const secret = await kube.find(kinds.secret, { namespace, name: objectName(idOf(hash)) });
  if (secret === undefined) return undefined;
  const { hash: known, ...found } = keyOf(secret);
  const equal = known.length === hash.length && timingSafeEqual(Buffer.from(known), Buffer.from(hash));
  return equal ? found : undefined;
}
