import { buildAuthorityMount, type DatabaseAddress } from '../../database/address.ts';
import { AGENT_CONTAINER } from '../../../schema/names.ts';

type NamedEntry = { name: string };
export type Addressed = { variables: NamedEntry[]; mounts: NamedEntry[]; volumes: NamedEntry[] };

const GIVEN = 'GX_DATABASE_ADDRESS';
const URI = 'DATABASE_URI';
const PATIENCE = 'GX_POSTGRES_WAIT_SECONDS';
const OF_ADDRESS = [GIVEN, URI, PATIENCE];
/**
 * Seconds for which a server waits for a database that starts beside it. Then it exits with a message and is restarted.
 */
const WAIT = 120;

/**
 * Returns the fields that give a pod the address of its database. The server waits for a managed database, but a wrong
 * address of an external one is reported at once. The address is complete: a user's own client that gets nothing else
 * also connects encrypted and verifies the server.
 */
export function buildAddressFields(address: DatabaseAddress): Addressed {
  if ('inSecrets' in address) return { variables: [], mounts: [], volumes: [] };
  const { secretName, key, authority } = address;
  const valueFrom = { secretKeyRef: { name: secretName, key } };
  if (authority === undefined)
    return { variables: [{ name: URI, valueFrom } as NamedEntry], mounts: [], volumes: [] };
  const { volume, mount, parameters } = buildAuthorityMount(authority);
  const value = `$(${GIVEN})?${new URLSearchParams(parameters).toString().replaceAll('%2F', '/')}`;
  const variables = [
    { name: GIVEN, valueFrom },
    { name: URI, value },
    { name: PATIENCE, value: String(WAIT) },
  ];
  return { variables, mounts: [mount], volumes: [volume] };
}

/** The volume of a pod's temporary files. */
export const OWN_FOLDER = 'gx-tmp';

/** Returns the same pod with its database at another address. */
export function replaceDatabaseAddress<
  T extends {
    containers: { name: string; env?: NamedEntry[]; volumeMounts?: NamedEntry[] }[];
    volumes?: NamedEntry[];
  },
>(pod: T, address: DatabaseAddress): T {
  const { variables, mounts, volumes } = buildAddressFields(address);
  const containers = pod.containers.map((container) =>
    container.name === AGENT_CONTAINER
      ? {
          ...container,
          // These come before all variables that may refer to them.
          env: [
            ...variables,
            ...(container.env ?? []).filter(({ name }) => !OF_ADDRESS.includes(name)),
          ],
          volumeMounts: replaceEntries(container.volumeMounts, mounts),
        }
      : container,
  );
  return { ...pod, containers, volumes: replaceEntries(pod.volumes, volumes) };
}

/**
 * Returns the entries with these instead of the authority's own volume, where a new pod has them: behind its folder for
 * temporary files. So a way to another address and back leaves the pod as it was.
 */
function replaceEntries(named: NamedEntry[] = [], given: NamedEntry[]): NamedEntry[] {
  const others = named.filter(({ name }) => name !== buildAuthorityMount('').volume.name);
  return others.toSpliced(others.findIndex(({ name }) => name === OWN_FOLDER) + 1, 0, ...given);
}
