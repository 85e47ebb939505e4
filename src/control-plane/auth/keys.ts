import { timingSafeEqual } from 'node:crypto';
import { kinds } from '../../kube/kinds.ts';
import type { Kube, SecretObject } from '../../kube/kube.ts';
import { API_KEY, PART_OF } from '../../schema/platform/objects/labels.ts';
import { isRole, type Role } from '../caller.ts';
import { hashApiKey, deriveKeyId, createApiKey } from './key-form.ts';
import { ensureMac } from './key-mac.ts';

/*
 * The hash of a key is stored, not the key. The Secret with the hash is named by the beginning of the hash, so that
 * checking a key is one read by name.
 */

/** The properties of a new key. Without `expiresAt` it never expires. */
export type NewKey = { name: string; tenantId: string; role: Role; expiresAt?: string | undefined };
/** A key as it is stored; `uid` is its Secret's. */
export type ApiKey = NewKey & { id: string; uid: string; createdAt: string };

/** Returns the name of the Secret of a key, and of the Lease with its last use. */
export const buildKeyObjectName = (id: string): string => `gx-api-key-${id}`;

const decodeText = (text: string | undefined): string =>
  Buffer.from(text ?? '', 'base64').toString('utf8');

function toApiKey({ metadata, data = {} }: SecretObject): ApiKey & { hash: string } {
  const role = decodeText(data.role);
  return {
    id: metadata.labels?.[API_KEY] ?? '',
    uid: metadata.uid ?? '',
    hash: decodeText(data.hash),
    name: decodeText(data.name),
    tenantId: decodeText(data.tenantId),
    role: isRole(role) ? role : 'read',
    expiresAt: data.expiresAt === undefined ? undefined : decodeText(data.expiresAt),
    createdAt: metadata.creationTimestamp ?? '',
  };
}

/** Makes a key, stores its hash, and returns the key. Nobody can see the key again afterwards. */
export async function createKey(
  kube: Kube,
  namespace: string,
  made: NewKey,
): Promise<ApiKey & { key: string }> {
  const key = createApiKey(await ensureMac(kube, namespace));
  const hash = hashApiKey(key);
  const id = deriveKeyId(hash);
  const { expiresAt, ...fields } = made;
  const stored = await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: buildKeyObjectName(id),
      namespace,
      labels: { [API_KEY]: id, [PART_OF]: 'gx-platform' },
    },
    type: 'Opaque',
    immutable: true,
    stringData: { hash, ...fields, ...(expiresAt !== undefined && { expiresAt }) },
  });
  return {
    id,
    ...made,
    uid: stored.metadata.uid ?? '',
    createdAt: stored.metadata.creationTimestamp ?? '',
    key,
  };
}

/** Returns every key, the oldest first. */
export async function listKeys(kube: Kube, namespace: string): Promise<ApiKey[]> {
  const secrets = await kube.listAll(kinds.secret, { namespace, labelSelector: API_KEY });
  const keys = secrets.map((secret) => toApiKey(secret)).map(({ hash: _hash, ...key }) => key);
  return keys.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
}

/** Deletes a key. Returns false if there is no key with this id. */
export const deleteApiKey = (kube: Kube, namespace: string, id: string): Promise<boolean> =>
  kube.delete(kinds.secret, { namespace, name: buildKeyObjectName(id) });

/** Returns whose key it is, or undefined if it was never made or was revoked. */
export async function lookUpKey(
  kube: Kube,
  namespace: string,
  key: string,
  signal: AbortSignal,
): Promise<ApiKey | undefined> {
  const hash = hashApiKey(key);
  const secret = await kube.find(
    kinds.secret,
    { namespace, name: buildKeyObjectName(deriveKeyId(hash)) },
    signal,
  );
  if (secret === undefined) return undefined;
  const { hash: known, ...found } = toApiKey(secret);
  const equal =
    known.length === hash.length && timingSafeEqual(Buffer.from(known), Buffer.from(hash));
  return equal ? found : undefined;
}
