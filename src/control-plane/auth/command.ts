import { parseArgs } from 'node:util';
import type { ControlPlaneConfig } from '../../config/platform/control-plane.ts';
import { toError, Forbidden, StartError } from '../../errors.ts';
import type { Kube } from '../../kube/kube.ts';
import { parseExpiry, isExpired } from './expiry.ts';
import { createKey, listKeys, deleteApiKey } from './keys.ts';
import { listLastUses } from './last-use.ts';
import { isRole, ROLES } from '../caller.ts';

export const API_KEY_HELP = `Keys of the REST API. They are stored as hashes, in Secrets of the control plane's namespace.

Usage: node src/main.ts api-key <create|list|revoke> [options]

  create --name <text> [--role read|write|admin] [--tenant <uuid>] [--expires <when>] [--quiet]
                    make a key and print it: it can't be shown again. --expires takes a time from now (12h, 90d)
                    or a date (2027-01-31, 2027-01-31T12:00:00Z). --quiet prints the key alone
  list              print every key: id, role, tenant, when it was made, expires and was last used (to five minutes), name
  revoke <id>       remove a key; it stops working within 5 seconds

  --namespace <name>   the control plane's namespace (default GX_NAMESPACE)
`;

type CommandContext = { kube: Kube; config: ControlPlaneConfig; out: (line: string) => void };
type Flags = {
  name?: string;
  role?: string;
  tenant?: string;
  expires?: string;
  namespace?: string;
  quiet?: boolean;
};

/** A name stands in lists, logs and annotations. */
const NAME = /^[^\p{C}]{1,100}$/u;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Runs `api-key create|list|revoke`. */
export async function runApiKeyCommand(args: string[], context: CommandContext): Promise<void> {
  const { flags, words } = parseFlags(args);
  const [verb, id] = words;
  const namespace = flags.namespace ?? context.config.namespace;
  try {
    if (verb === 'create') return await create(flags, namespace, context);
    if (verb === 'list') return await list(namespace, context);
    if (verb === 'revoke') return await runRevoke(id, namespace, context);
  } catch (error) {
    if (!(error instanceof Forbidden)) throw error;
    const remedy =
      'Within the control plane, the setting controlPlane.apiKeysByExec of the chart permits it; else use an account of your own.';
    throw new StartError(
      `This account may not manage API keys: ${error.message.replace(/\.?$/, '.')} ${remedy}`,
      { cause: error },
    );
  }
  throw new StartError(`"${verb ?? ''}" is not known; see api-key --help.`);
}

function parseFlags(args: string[]): { flags: Flags; words: string[] } {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    const options = {
      name: text,
      role: text,
      tenant: text,
      expires: text,
      namespace: text,
      quiet: flag,
    };
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
    return { flags: values, words: positionals };
  } catch (error) {
    throw new StartError(`${toError(error).message} See api-key --help.`, { cause: error });
  }
}

async function create(
  flags: Flags,
  namespace: string,
  { kube, config, out }: CommandContext,
): Promise<void> {
  const { name = '', role = 'write', tenant, expires, quiet } = flags;
  if (name === '') throw new StartError('A key needs a --name, by which people recognize it.');
  if (!NAME.test(name)) throw new StartError('--name must be one line of at most 100 characters.');
  if (!isRole(role)) throw new StartError(`--role must be one of ${ROLES.join(', ')}.`);
  const tenantId = (tenant ?? config.defaultTenantId).toLowerCase();
  if (!UUID.test(tenantId)) throw new StartError('--tenant must be a uuid.');
  const expiresAt = expires === undefined ? undefined : parseExpiry(expires, new Date());
  const made = await createKey(kube, namespace, { name, role, tenantId, expiresAt });
  out(made.key);
  if (quiet === true) return;
  const until = expiresAt === undefined ? 'never expires' : `expires ${expiresAt}`;
  out(
    `Id ${made.id}, role ${role}, tenant ${tenantId}, ${until}. Keep the key: it can't be shown again.`,
  );
}

async function list(namespace: string, { kube, out }: CommandContext): Promise<void> {
  const [keys, used] = await Promise.all([
    listKeys(kube, namespace),
    listLastUses(kube, namespace),
  ]);
  if (keys.length === 0)
    return out('There are no keys. Make one with: api-key create --name <text>');
  const rows = keys.map(({ id, role, tenantId, createdAt, expiresAt, name }) => {
    const over = isExpired({ expiresAt }, Date.now()) ? 'expired' : expiresAt;
    return [
      id,
      role,
      tenantId,
      createdAt,
      over ?? 'never',
      used.get(id)?.replace(/\.\d+Z$/, 'Z') ?? 'never',
      name,
    ];
  });
  const table = [['ID', 'ROLE', 'TENANT', 'CREATED', 'EXPIRES', 'LAST USED', 'NAME'], ...rows];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  for (const row of table)
    out(
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    );
}

async function runRevoke(
  id: string | undefined,
  namespace: string,
  { kube, out }: CommandContext,
): Promise<void> {
  if (id === undefined || !/^[0-9a-f]{16}$/.test(id))
    throw new StartError('revoke needs the id of a key; api-key list prints them.');
  if (!(await deleteApiKey(kube, namespace, id)))
    throw new StartError(`There is no key with the id ${id}.`);
  out(`Key ${id} is revoked: it stops working within 5 seconds.`);
}
