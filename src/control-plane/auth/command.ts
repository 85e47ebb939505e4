import { parseArgs } from 'node:util';
import type { ControlPlaneConfig } from '../../config/control-plane.ts';
import { asError, StartError } from '../../errors.ts';
import type { Kube } from '../../kube/kube.ts';
import { createKey, listKeys, revokeKey } from './keys.ts';
import type { Role } from '../caller.ts';

const HELP = `Keys of the REST API. They are stored as hashes, in Secrets of the control plane's namespace.

Usage: node src/main.ts api-key <create|list|revoke> [options]

  create --name <text> [--role read|write] [--tenant <uuid>] [--quiet]
                    make a key and print it: it can't be shown again. --quiet prints the key alone
  list              print id, role, tenant, age and name of every key
  revoke <id>       remove a key; it stops working within 10 seconds

  --namespace <name>   the control plane's namespace (default GX_NAMESPACE)
`;

type CommandContext = { kube: Kube; config: ControlPlaneConfig; out: (line: string) => void };
type Flags = { name?: string; role?: string; tenant?: string; namespace?: string; quiet?: boolean; help?: boolean };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Runs `api-key create|list|revoke`. */
export async function runApiKeyCommand(args: string[], context: CommandContext): Promise<void> {
  const { flags, words } = parsed(args);
  const [verb = 'help', id] = words;
  const namespace = flags.namespace ?? context.config.namespace;
  if (flags.help === true || verb === 'help') return context.out(HELP);
  if (verb === 'create') return create(flags, namespace, context);
  if (verb === 'list') return list(namespace, context);
  if (verb === 'revoke') return revoke(id, namespace, context);
  throw new StartError(`"${verb}" is not known; see api-key --help.`);
}

function parsed(args: string[]): { flags: Flags; words: string[] } {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    const options = { name: text, role: text, tenant: text, namespace: text, quiet: flag, help: { ...flag, short: 'h' } };
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
    return { flags: values, words: positionals };
  } catch (error) {
    throw new StartError(`${asError(error).message} See api-key --help.`, { cause: error });
  }
}

async function create(
  { name, role = 'write', tenant, quiet }: Flags,
  namespace: string,
  { kube, config, out }: CommandContext,
): Promise<void> {
  if (name === undefined || name === '') throw new StartError('A key needs a --name, by which people tell it from others.');
  if (role !== 'read' && role !== 'write') throw new StartError('--role must be read or write.');
  const tenantId = (tenant ?? config.defaultTenantId).toLowerCase();
  if (!UUID.test(tenantId)) throw new StartError('--tenant must be a uuid.');
  const made = await createKey(kube, namespace, { name, role: role satisfies Role, tenantId });
  if (quiet === true) return out(made.key);
  out(made.key);
  out(`Id ${made.id}, role ${role}, tenant ${tenantId}. Keep the key: it can't be shown again.`);
}

async function list(namespace: string, { kube, out }: CommandContext): Promise<void> {
  const keys = await listKeys(kube, namespace);
  if (keys.length === 0) return out('There are no keys. Make one with: api-key create --name <text>');
  for (const { id, role, tenantId, createdAt, name } of keys) out([id, role, tenantId, createdAt, name].join('  '));
}

async function revoke(id: string | undefined, namespace: string, { kube, out }: CommandContext): Promise<void> {
  if (id === undefined || !/^[0-9a-f]{16}$/.test(id)) throw new StartError('revoke needs the id of a key; api-key list prints them.');
  if (!(await revokeKey(kube, namespace, id))) throw new StartError(`There is no key with the id ${id}.`);
  out(`Key ${id} is revoked.`);
}
