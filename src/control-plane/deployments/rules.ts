import type { Hosting } from '../../config/platform/control-plane.ts';
import type { FieldError } from '../../errors.ts';
import type {
  Deployment,
  DeploymentCreateRequest,
  DeploymentPatchRequest,
  Secret,
} from '../../schema/platform/deployment/deployment.ts';
import { checkAuthSpec } from '../../schema/platform/spec/auth-spec.ts';
import {
  checkGitRef,
  checkGitUrl,
  findImageFault,
} from '../../schema/platform/source/git-source.ts';
import { checkObjectPart, SPEC_LIMIT } from '../../schema/platform/objects/object-fault.ts';
import { checkRollout } from '../../schema/platform/rollout/rollout-spec.ts';
import { isReservedEnv } from '../../schema/platform/deployment/reserved-env.ts';
import { ORDERED_RESOURCE_FIELDS } from '../../schema/platform/spec/resource-spec.ts';
import { formatCanonicalJson } from '../../schema/canonical-json.ts';
import {
  SOURCE_FIELDS,
  TAG_PREFIX,
  type SourceField,
} from '../../schema/platform/source/source-fields.ts';
import {
  isTooLargeVariable,
  MAX_VARIABLE_BYTES,
} from '../../schema/platform/spec/variable-size.ts';
import type { Json } from '../../schema/json.ts';

/** A deployment as wanted: a create, or a stored one with a patch merged in. */
export type WantedDeployment = Pick<
  DeploymentCreateRequest,
  'source' | 'source_config' | 'source_revision_config'
>;

/** A sentence about a broken rule. It begins with the field's path in the body. */
export type Broken = string;

/** Returns the value at a dotted path. Null and absent are both undefined. */
function getValue(body: object, path: string): unknown {
  let value: unknown = body;
  for (const step of path.split('.')) value = (value as Json | null | undefined)?.[step];
  return value ?? undefined;
}

const isSame = (a: unknown, b: unknown): boolean =>
  formatCanonicalJson(a ?? null) === formatCanonicalJson(b ?? null);

/** Returns every broken rule about a deployment's fields, in the order of the table. */
export function checkRules(wanted: WantedDeployment, { hosting }: { hosting: Hosting }): Broken[] {
  return [
    ...checkHosting(wanted, hosting),
    ...SOURCE_FIELDS.flatMap((field) => checkSourceField(wanted, field)),
    ...checkTag(wanted),
    ...checkSizes(wanted),
    ...checkRollout(wanted.source_config.rollout ?? {}).map(
      (broken) => `source_config.rollout.${broken}`,
    ),
    ...checkAuthSpec(wanted.source_revision_config.auth ?? {}).map(
      (broken) => `source_revision_config.auth.${broken}`,
    ),
  ];
}

/** Returns a broken rule if checks are queries that nobody answers. */
export function checkQueries(
  { source_config: config }: DeploymentPatchRequest,
  asksPrometheus: boolean,
): Broken[] {
  const asks = config?.rollout?.checks?.some(({ query }) => query !== undefined) === true;
  return asks && !asksPrometheus
    ? [
        'source_config.rollout.checks: query is not possible, because this installation names no Prometheus server (settings.prometheus.url)',
      ]
    : [];
}

function checkHosting({ source }: WantedDeployment, hosting: Hosting): Broken[] {
  const needed = source === 'git' ? 'cloud' : 'self-hosted';
  return hosting === needed || hosting === 'both'
    ? []
    : [`source: ${source} is only available for ${needed} deployments`];
}

function checkSourceField(
  wanted: WantedDeployment,
  { rest, source, required }: SourceField,
): Broken[] {
  const present = getValue(wanted, rest) !== undefined;
  if (present && wanted.source !== source) return [`${rest}: only for source ${source}`];
  if (!present && required === true && wanted.source === source)
    return [`${rest}: required for source ${source}`];
  return [];
}

function checkTag({
  source_config: config,
  source_revision_config: revision,
}: WantedDeployment): Broken[] {
  const tagged = revision.repo_ref?.startsWith(TAG_PREFIX) === true;
  return tagged && config.build_on_push === true
    ? ['source_config.build_on_push: must be false while repo_ref is a tag']
    : [];
}

function checkSizes({ source_config: { resource_spec: spec } }: WantedDeployment): Broken[] {
  const at = 'source_config.resource_spec';
  const sizes = (spec ?? {}) as Json;
  const reversed = ORDERED_RESOURCE_FIELDS.filter(([low, high, unless]) => {
    const [a, b] = [sizes[low], sizes[high]];
    if (unless !== undefined && (sizes[unless] ?? null) !== null) return false;
    return typeof a === 'number' && typeof b === 'number' && a > b;
  });
  return reversed.map(([low, high]) => `${at}.${low}: must not exceed ${high}`);
}

/** One Kubernetes Secret holds all of them. It takes at most 1 MiB of names and values. */
const MOST_BYTES = 1_000_000;

/** Returns the faults of secrets that can't become environment variables, or that are too large together. */
export function checkSecrets(secrets: readonly Secret[]): Broken[] {
  const bytes = secrets.reduce(
    (sum, { name, value }) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  );
  return [
    ...checkNames(secrets),
    ...(bytes > MOST_BYTES ? [`secrets: together they are larger than ${MOST_BYTES} bytes`] : []),
  ];
}

type Variable = { name: string; value?: string | null | undefined };

/** Returns the variables with which no process could start: secrets, and those of sidecars and init containers. */
export function findLargeVariables({
  secrets,
  source_config: config,
}: DeploymentPatchRequest): FieldError[] {
  const spec = config?.resource_spec;
  const containers = (['sidecars', 'init_containers'] as const).flatMap((field) =>
    (spec?.[field] ?? []).map(({ env }, index) => ({
      path: ['source_config', 'resource_spec', field, index, 'env'],
      variables: (env ?? []) as Variable[],
    })),
  );
  return [{ path: ['secrets'], variables: (secrets ?? []) as Variable[] }, ...containers].flatMap(
    ({ path, variables }) =>
      variables.flatMap(({ name, value }, at) => {
        if (!isTooLargeVariable(name, Buffer.byteLength(value ?? ''))) return [];
        const msg = `${name} and its value have more than ${MAX_VARIABLE_BYTES - 2} bytes, with which no process starts: mount it as a file`;
        return [{ loc: ['body', ...path, at, 'value'], msg, type: 'value_error' }];
      }),
  );
}

function checkNames(secrets: readonly Secret[]): Broken[] {
  const seen = new Set<string>();
  return secrets.flatMap(({ name }, index) => {
    const twice = seen.has(name);
    seen.add(name);
    if (twice) return [`secrets.${index}.name: ${name} is given twice`];
    return isReservedEnv(name) ? [`secrets.${index}.name: ${name} is set by the platform`] : [];
  });
}

/** Returns the faults of a deployment whose fields together are larger than a spec may be. */
export function checkSpecSize({
  source_config,
  source_revision_config,
}: WantedDeployment): Broken[] {
  const fault = checkObjectPart(
    'source_config',
    { source_config, source_revision_config },
    SPEC_LIMIT,
  );
  return fault === undefined ? [] : [fault.message];
}

/**
 * Returns the faults of a request's repository, reference and image. Those of a stored deployment are not looked at
 * again.
 */
export function checkSources({
  source_config: config,
  source_revision_config: revision,
}: DeploymentPatchRequest): FieldError[] {
  const [url, ref, image] = [
    config?.repo_url ?? undefined,
    revision?.repo_ref ?? undefined,
    revision?.image_uri ?? undefined,
  ];
  const faults: [place: string[], fault: string | undefined][] = [
    [['source_config', 'repo_url'], url && checkGitUrl(url, { insecure: true })],
    [['source_revision_config', 'repo_ref'], ref && checkGitRef(ref)],
    [['source_revision_config', 'image_uri'], image && findImageFault(image)],
  ];
  return faults.flatMap(([place, fault]) =>
    fault === undefined
      ? []
      : [
          {
            loc: ['body', ...place],
            msg: fault,
            type: place.includes('image_uri') ? 'value_error' : 'value_error.git',
          },
        ],
  );
}

const IMMUTABLE: readonly string[] = [
  'name',
  'source',
  ...SOURCE_FIELDS.filter((field) => field.immutable === true).map((field) => field.rest),
  'source_config.listener_config.k8s_namespace',
  'source_config.storage_class',
];

/** Returns the fixed fields that a patch would change. Sending the present value again changes nothing. */
export function checkImmutables(current: Deployment, patch: DeploymentPatchRequest): Broken[] {
  return IMMUTABLE.filter((path) => {
    const value = getValue(patch, path);
    return value !== undefined && !isSame(value, getValue(current, path));
  }).map((path) => `${path}: can't be changed`);
}

const VOLUME = 'source_config.resource_spec.db_storage_gi';

/**
 * Returns a broken rule if a patch would shrink the database's volume. While `isGrowing`, the stored size has not been
 * reached yet, and the size before it may be asked for again.
 */
export function checkVolumeSize(
  stored: WantedDeployment,
  patch: DeploymentPatchRequest,
  { isGrowing }: { isGrowing: boolean },
): Broken[] {
  const [there, asked] = [getValue(stored, VOLUME), getValue(patch, VOLUME)];
  const shrinks =
    typeof there === 'number' && typeof asked === 'number' && asked < there && !isGrowing;
  return shrinks ? [`${VOLUME}: a volume can't shrink: it is ${there}`] : [];
}

/** Any non-null value of these fields makes a revision, even the present one. */
const REVISION_MAKERS = [
  'source_revision_config.repo_ref',
  'source_revision_config.gx_config_path',
  'source_revision_config.image_uri',
  'source_revision_config.auth',
  'source_revision_config.placement',
  'source_config.resource_spec',
  'secrets',
] as const;

export const needsRevision = (patch: DeploymentPatchRequest): boolean =>
  REVISION_MAKERS.some((path) => getValue(patch, path) !== undefined);

type Part = Record<string, unknown> | null | undefined;

/** Merges `patch` over `base`. Null and absent fields keep the stored value. */
const mergeFields = (base: Part, patch: Part): Json => ({
  ...base,
  ...Object.fromEntries(
    Object.entries(patch ?? {}).filter(([, value]) => value !== null && value !== undefined),
  ),
});

/** Returns the deployment as it stands after the patch. */
export const applyPatch = (
  stored: WantedDeployment,
  patch: DeploymentPatchRequest,
): WantedDeployment => ({
  source: stored.source,
  source_config: mergeFields(stored.source_config, patch.source_config),
  source_revision_config: mergeFields(stored.source_revision_config, patch.source_revision_config),
});

/**
 * Returns the patch without the fields that it only sends back: a client may return a whole answer, with fields that
 * the server filled in. Fields that make a revision stay, because sending them again asks for one.
 */
export function stripEcho(
  current: Deployment,
  patch: DeploymentPatchRequest,
): DeploymentPatchRequest {
  const config = Object.entries(patch.source_config ?? {}).filter(
    ([name, value]) =>
      name === 'resource_spec' || !isSame(value, getValue(current, `source_config.${name}`)),
  );
  const { image_uri: image, ...revision } = patch.source_revision_config ?? {};
  // In a deployment from git, the server fills in the built image.
  const isBuilt =
    current.source === 'git' && isSame(image, current.source_revision_config.image_uri);
  return {
    ...patch,
    source_config: Object.fromEntries(config),
    ...(isBuilt && { source_revision_config: revision }),
  };
}
