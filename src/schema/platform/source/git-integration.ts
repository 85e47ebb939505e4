import { Type, type Static } from 'typebox';
import { buildEnumSchema, buildUuidSchema, addCelRules, buildOptionalFields } from '../../types.ts';

/** The hosts whose repositories are listed and whose push events are understood; `generic` is any other. */
export const GIT_KINDS = ['github', 'gitlab', 'gitea', 'generic'] as const;
export type GitKind = (typeof GIT_KINDS)[number];

/** The address of a host, perhaps with a path below which its repositories lie. */
export const HOST_URL = '^https?://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(/[A-Za-z0-9_~./-]*)?$';
/**
 * `acme/agent`, `acme/*`, `group/**`: a star stands for one step of the path, two for any number of them, and `%20` for
 * a space.
 */
export const REPOSITORY_PATTERN = String.raw`^(\*|\*\*|[A-Za-z0-9_~.%-]+)(/(\*|\*\*|[A-Za-z0-9_~.%-]+))*$`;

const buildSecretSchema = (holds: string) =>
  Type.String({
    minLength: 1,
    maxLength: 253,
    description: `Secret in the namespace of git credentials that holds ${holds}.`,
  });

const ListedRepository = Type.Object({
  id: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Id in answers.' }),
  name: Type.String({ minLength: 1, maxLength: 253 }),
  owner: Type.String({ minLength: 1, maxLength: 1024 }),
  url: Type.String({ minLength: 1, maxLength: 2048, description: 'For source_config.repo_url.' }),
  defaultBranch: Type.String({ minLength: 1, maxLength: 512 }),
});
export type ListedRepository = Static<typeof ListedRepository>;

export const GitIntegrationSpec = addCelRules(
  Type.Object({
    id: Type.Optional(
      buildUuidSchema(
        'Id in REST answers and in sourceConfig.integrationId. Default: metadata.uid.',
      ),
    ),
    tenantId: Type.Optional(buildUuidSchema('Tenant it belongs to; unset: the default tenant.')),
    name: Type.String({ minLength: 1, maxLength: 253, description: 'Name for people.' }),
    installationId: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: "The host's own number for it, such as the installation id of a GitHub App.",
      }),
    ),
    kind: buildEnumSchema(GIT_KINDS, { description: 'The kind of host.' }),
    host: Type.String({
      maxLength: 2048,
      pattern: HOST_URL,
      description: 'Address of the host, such as https://github.com.',
    }),
    ...buildOptionalFields({
      apiUrl: Type.String({
        maxLength: 2048,
        pattern: HOST_URL,
        description: "Address of the host's API, if it is not the usual one.",
      }),
      repositories: Type.Array(Type.String({ maxLength: 1024, pattern: REPOSITORY_PATTERN }), {
        maxItems: 1000,
        description:
          'Which repositories of the host may be built: owner/name; * matches one segment of the path, ** several. Unset: all.',
      }),
      listed: Type.Array(ListedRepository, {
        maxItems: 1000,
        description: "Repositories that are listed instead of the host's own list.",
      }),
      credentialSecret: buildSecretSchema(
        'token (and username), or appId, installationId and privateKey of a GitHub App, or ssh-privatekey and known_hosts',
      ),
      webhookSecret: buildSecretSchema(
        'the secret of push events, as `secret`. Without it, none are taken',
      ),
      pollSeconds: Type.Integer({
        minimum: 10,
        maximum: 86_400,
        description:
          'How often followed branches are polled if no push event arrives. Unset: never.',
      }),
    }),
  }),
  [
    {
      rule: 'has(self.id) == has(oldSelf.id) && (!has(self.id) || self.id == oldSelf.id)',
      message: "id: can't be changed",
    },
  ],
);
export type GitIntegrationSpec = Static<typeof GitIntegrationSpec>;
