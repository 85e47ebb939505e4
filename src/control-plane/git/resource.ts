import { Type, type Static } from 'typebox';
import { type GitIntegrationResource } from '../../schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../schema/platform/objects/api-group.ts';
import { UnmatchedPushShown } from '../../schema/platform/deployment/deployment-summary.ts';
import type { GitIntegration } from '../../schema/platform/source/git-connection.ts';
import {
  GIT_KINDS,
  GitIntegrationSpec,
  type GitKind,
} from '../../schema/platform/source/git-integration.ts';
import {
  findCredentialFault,
  findPrivateKeyFault,
  toUnixLines,
  toCanonicalPem,
  trimCredential,
} from '../../schema/platform/source/pasted-credential.ts';
import type { UnmatchedPush } from '../stored/shared-pushes.ts';
import {
  buildClosedSchema,
  buildDateTimeSchema,
  buildNullableSchema,
  buildEnumSchema,
  buildUuidSchema,
  buildNullableFields,
} from '../../schema/types.ts';

const spec = GitIntegrationSpec.properties;
const buildSecretType = (description: string) =>
  Type.Optional(buildNullableSchema(Type.String({ minLength: 1, maxLength: 65_536, description })));

const GitCredentialRequest = buildClosedSchema(
  {
    token: buildSecretType('A token that may read the repositories and list them.'),
    ...buildNullableFields({
      username: Type.String({
        minLength: 1,
        maxLength: 253,
        description: 'User name for the token, if the host requires one.',
      }),
      app_id: Type.String({
        pattern: '^[0-9]{1,20}$',
        description: 'Id of a GitHub App; needs app_installation_id and private_key, too.',
      }),
      app_installation_id: Type.String({ pattern: '^[0-9]{1,20}$' }),
    }),
    private_key: buildSecretType('RSA key of the GitHub App, in PEM form.'),
    ssh_private_key: buildSecretType('For ssh addresses; needs known_hosts, too.'),
    known_hosts: buildSecretType("The host's keys, as ssh-keyscan prints them."),
  },
  {
    description:
      'Write-only: no answer shows it. One of: token; app_id, app_installation_id and private_key; ssh_private_key and known_hosts.',
  },
);
export type GitCredentialRequest = Static<typeof GitCredentialRequest>;

const Listed = buildClosedSchema({
  id: spec.listed.items.properties.id,
  name: Type.String(),
  owner: Type.String(),
  url: Type.String(),
  default_branch: Type.String(),
});

export const GitIntegrationRequest = buildClosedSchema({
  name: spec.name,
  kind: buildEnumSchema(GIT_KINDS, { description: 'The kind of host.' }),
  ...buildNullableFields({
    host: Type.String({
      ...spec.host,
      description: 'Address of the host. Default of github and gitlab: their own.',
    }),
    api_url: spec.apiUrl,
    repositories: spec.repositories,
    repos: Type.Array(Listed, {
      maxItems: 1000,
      description: "Repositories that are listed instead of the host's own list.",
    }),
    installation_id: spec.installationId,
    poll_seconds: spec.pollSeconds,
    credential: GitCredentialRequest,
    webhook_secret: Type.String({
      minLength: 16,
      maxLength: 1024,
      description: 'Write-only: the secret with which the host signs push events.',
    }),
  }),
});
export type GitIntegrationRequest = Static<typeof GitIntegrationRequest>;

export const GitConnection = buildClosedSchema({
  id: buildUuidSchema('For source_config.integration_id.'),
  name: Type.String(),
  kind: buildEnumSchema(GIT_KINDS),
  host: buildNullableSchema(Type.String()),
  api_url: buildNullableSchema(Type.String()),
  repositories: buildNullableSchema(Type.Array(Type.String())),
  installation_id: Type.Integer(),
  poll_seconds: buildNullableSchema(Type.Integer()),
  has_credential: Type.Boolean(),
  takes_pushes: Type.Boolean({
    description: 'Whether push events are accepted: it has a webhook secret.',
  }),
  push_path: Type.String({ description: 'Where the host sends push events.' }),
  unmatched_push: buildNullableSchema(UnmatchedPushShown),
  tenant_id: buildUuidSchema('Read-only.'),
  created_at: buildNullableSchema(
    buildDateTimeSchema("Read-only; null for a connection from the installation's settings."),
  ),
});
export type GitConnection = Static<typeof GitConnection>;

/** Returns a connection as REST answers it. */
export const toConnectionAnswer = (
  integration: GitIntegration,
  createdAt: string | undefined,
  unmatched: UnmatchedPush | undefined,
): GitConnection => ({
  id: integration.id,
  name: integration.name,
  kind: integration.kind,
  host: integration.host ?? null,
  api_url: integration.apiUrl ?? null,
  repositories: integration.repositories ?? null,
  installation_id: integration.installationId,
  poll_seconds: integration.pollSeconds ?? null,
  has_credential: integration.credentialSecret !== undefined,
  takes_pushes: integration.webhookSecret !== undefined,
  push_path: `/v1/integrations/git/${integration.id}/push`,
  unmatched_push: unmatched ?? null,
  tenant_id: integration.tenantId,
  created_at: createdAt ?? null,
});

const USUAL_HOSTS: Partial<Record<GitKind, string>> = {
  github: 'https://github.com',
  gitlab: 'https://gitlab.com',
};

/** Returns the host that a request means, without a slash at its end. Undefined if none is named and none is usual. */
export const resolveHost = ({ kind, host }: GitIntegrationRequest): string | undefined =>
  (host ?? USUAL_HOSTS[kind])?.replace(/\/+$/, '');

/** The three forms of a credential: the fields of each, and the keys of its Secret. The first two are always needed. */
const FORMS: {
  needed: (keyof GitCredentialRequest)[];
  optional?: (keyof GitCredentialRequest)[];
}[] = [
  { needed: ['token'], optional: ['username'] },
  { needed: ['app_id', 'app_installation_id', 'private_key'] },
  { needed: ['ssh_private_key', 'known_hosts'] },
];
const KEYS: Record<
  keyof GitCredentialRequest,
  { key: string; normalize: (text: string) => string; isKey?: true }
> = {
  token: { key: 'token', normalize: trimCredential },
  username: { key: 'username', normalize: trimCredential },
  app_id: { key: 'appId', normalize: trimCredential },
  app_installation_id: { key: 'installationId', normalize: trimCredential },
  private_key: { key: 'privateKey', normalize: toCanonicalPem, isKey: true },
  ssh_private_key: { key: 'ssh-privatekey', normalize: toCanonicalPem, isKey: true },
  known_hosts: { key: 'known_hosts', normalize: toUnixLines },
};

/** Returns the keys of a credential's Secret, or the credential's fault. */
export function buildCredentialData(
  credential: GitCredentialRequest,
): { data: Record<string, string> } | { problem: string } {
  const given = (Object.keys(KEYS) as (keyof GitCredentialRequest)[]).filter(
    (name) => (credential[name] ?? null) !== null,
  );
  const form = FORMS.find(({ needed, optional = [] }) => {
    return (
      needed.every((name) => given.includes(name)) &&
      given.every((name) => [...needed, ...optional].includes(name))
    );
  });
  if (form === undefined)
    return {
      problem:
        'credential: give a token, or app_id, app_installation_id and private_key, or ssh_private_key and known_hosts',
    };
  const data: Record<string, string> = {};
  for (const name of given) {
    const { key, normalize, isKey } = KEYS[name];
    const value = normalize(credential[name] as string);
    const fault = isKey === true ? findPrivateKeyFault(value) : findCredentialFault(value);
    if (fault !== undefined) return { problem: `credential.${name}: is ${fault}` };
    data[key] = value;
  }
  return { data };
}

/** Returns the resource that is stored for a request. */
export function toIntegrationResource(
  body: GitIntegrationRequest,
  given: {
    name: string;
    namespace: string;
    tenantId: string;
    host: string;
    annotations: Record<string, string>;
  },
  secrets: { credentialSecret?: string; webhookSecret?: string },
): GitIntegrationResource {
  const { repos } = body;
  const optional = {
    apiUrl: body.api_url,
    repositories: body.repositories,
    installationId: body.installation_id,
    pollSeconds: body.poll_seconds,
    listed: repos?.map(({ default_branch: defaultBranch, ...repo }) => ({
      ...repo,
      defaultBranch,
    })),
  };
  return {
    apiVersion: API_VERSION,
    kind: 'GitIntegration',
    metadata: { name: given.name, namespace: given.namespace, annotations: given.annotations },
    spec: {
      tenantId: given.tenantId,
      name: body.name,
      kind: body.kind,
      host: given.host,
      ...(Object.fromEntries(
        Object.entries(optional).filter(([, value]) => (value ?? null) !== null),
      ) as Partial<GitIntegrationSpec>),
      ...secrets,
    },
  };
}
