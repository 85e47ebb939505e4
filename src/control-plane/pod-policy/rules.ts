import type { Grant } from '../../config/platform/control-plane.ts';
import {
  ENDING_SIDECAR,
  type Container,
  type Volume,
  type VolumeMount,
} from '../../schema/platform/spec/container.ts';
import { MANAGED_BY, PART_OF } from '../../schema/platform/objects/labels.ts';
import { AGENT_CONTAINER } from '../../schema/names.ts';
import {
  isAllowedKey,
  isDisguise,
  isKey,
  isLabelValue,
  NO_KEYS,
  type ObjectKeys,
} from '../../schema/platform/objects/object-keys.ts';
import type { ResourceSpec } from '../../schema/platform/spec/resource-spec.ts';
import { GROUP } from '../../schema/platform/objects/api-group.ts';
import { type Json, isObject } from '../../schema/json.ts';

/*
 * The parts of a pod that a REST user may set. Such a user has no rights in the cluster, so everything that reaches
 * beyond the pod is refused unless the installation grants it. Users with rights in the cluster use kubectl, where the
 * API server's own admission decides.
 */

type Grants = readonly Grant[];

const AT = 'source_config.resource_spec';

/** Returns the faults of containers, volumes, labels and annotations that contradict each other or are not granted. */
export function checkPodRules(
  spec: ResourceSpec | null | undefined,
  grants: Grants,
  keys: ObjectKeys = NO_KEYS,
): string[] {
  if (!spec) return [];
  const volumes = spec.volumes ?? [];
  const known = volumes.map(({ name }) => name);
  const containers = [
    ...listContainers(spec.init_containers, 'init_containers'),
    ...listContainers(spec.sidecars, 'sidecars'),
  ];
  return [
    ...checkUnique(known, `${AT}.volumes`),
    ...checkUnique(
      containers.map(([, { name }]) => name),
      `${AT}.init_containers and sidecars`,
    ),
    ...volumes.flatMap((volume, index) => checkVolume(volume, `${AT}.volumes.${index}`, grants)),
    ...checkMounts(spec.volume_mounts, { at: `${AT}.volume_mounts`, known, grants }),
    ...checkMountPaths(spec.volume_mounts ?? []),
    ...containers.flatMap(([at, container]) => checkContainer(container, { at, known, grants })),
    ...listContainers(spec.sidecars, 'sidecars').flatMap(([at, { restartPolicy }]) =>
      restartPolicy === 'OnFailure'
        ? [`${at}.restartPolicy: ${ENDING_SIDECAR.replace('{init}', 'init_containers')}`]
        : [],
    ),
    ...checkToken(spec, grants),
    ...checkKeys(spec.labels, 'labels', keys),
    ...checkKeys(spec.annotations, 'annotations', keys),
    ...checkLabelValues(spec.labels),
    ...checkDisguise(spec.labels),
  ];
}

const listContainers = (
  containers: Container[] | null | undefined,
  field: string,
): [string, Container][] =>
  (containers ?? []).map((container, index) => [`${AT}.${field}.${index}`, container]);

const checkUnique = (names: string[], at: string): string[] =>
  names.some((name, index) => names.indexOf(name) !== index)
    ? [`${at}: a name is given twice`]
    : [];

/** The grant that each volume source needs. The others stay inside the pod or the namespace's public parts. */
const SOURCE_GRANTS: Readonly<Record<string, Grant | undefined>> = {
  configMap: undefined,
  emptyDir: undefined,
  downwardAPI: undefined,
  secret: 'secrets',
  projected: 'projected',
  csi: 'csi',
  nfs: 'nfs',
  persistentVolumeClaim: 'claims',
};

function checkVolume({ name, ...sources }: Volume, at: string, grants: Grants): string[] {
  const given = Object.keys(sources).filter(
    (source) => (sources as Json)[source] !== null && (sources as Json)[source] !== undefined,
  );
  if (name.startsWith(OWN_VOLUMES))
    return [`${at}.name: names that begin with ${OWN_VOLUMES} are the platform's`];
  if (given.length !== 1) return [`${at}: needs exactly one source`];
  const [source = ''] = given;
  const grant = SOURCE_GRANTS[source];
  return grant === undefined || grants.includes(grant)
    ? []
    : [`${at}.${source}: not allowed here (an administrator may grant "${grant}")`];
}

/**
 * The token lets the agents' code do everything that the account may. A namespace's default account is nobody's choice.
 */
function checkToken(
  { automount_service_account_token: mounts, service_account_name: account }: ResourceSpec,
  grants: Grants,
): string[] {
  const at = `${AT}.automount_service_account_token`;
  if (mounts !== true) return [];
  if (!grants.includes('tokens'))
    return [`${at}: not allowed here (an administrator may grant "tokens")`];
  return account === null || account === undefined ? [`${at}: needs service_account_name`] : [];
}

type MountScope = { at: string; known: string[]; grants: Grants };

function checkMounts(
  mounts: VolumeMount[] | null | undefined,
  { at, known, grants }: MountScope,
): string[] {
  return (mounts ?? []).flatMap(({ name, mountPropagation: propagation }, index) => {
    const unknown = known.includes(name) ? [] : [`${at}.${index}.name: no volume is named ${name}`];
    const outward = propagation === 'Bidirectional' && !grants.includes('privileged');
    return [
      ...unknown,
      ...(outward ? [`${at}.${index}.mountPropagation: Bidirectional is not allowed here`] : []),
    ];
  });
}

function checkMountPaths(mounts: VolumeMount[]): string[] {
  const paths = mounts.map(({ mountPath }) => resolveMountPath(mountPath));
  const own = paths.find(
    (path) =>
      path === SCRATCH_FOLDER || OWN_FOLDERS.some((folder) => `${path}/`.startsWith(`${folder}/`)),
  );
  if (own !== undefined) return [`${AT}.volume_mounts: ${own} is a folder of the platform`];
  const repeated = paths.find((path, index) => paths.indexOf(path) !== index);
  return repeated === undefined ? [] : [`${AT}.volume_mounts: ${repeated} is mounted already`];
}

/** Returns the absolute path that a node makes of one: it begins at the root, and follows `.` and `..`. */
function resolveMountPath(path: string): string {
  const steps: string[] = [];
  for (const step of path.split('/').filter((one) => one !== '' && one !== '.'))
    if (step === '..') steps.pop();
    else steps.push(step);
  return `/${steps.join('/')}`;
}

/** Names that the operator gives to its own container, volumes and mounts. */
const OWN_CONTAINERS = [AGENT_CONTAINER];
const OWN_VOLUMES = 'gx-';
/** Mounted into each pod; volumes may be mounted below it. */
const SCRATCH_FOLDER = '/tmp';
/** Folders of the platform in an agent's container: the server itself, its keys, the certificates of its database. */
const OWN_FOLDERS = ['/app', '/etc/gx-key', '/etc/gx-database'];

function checkContainer(container: Container, place: MountScope): string[] {
  const { at, grants } = place;
  return [
    ...(OWN_CONTAINERS.includes(container.name)
      ? [`${at}.name: ${container.name} is a container of the platform`]
      : []),
    ...checkMounts(container.volumeMounts, { ...place, at: `${at}.volumeMounts` }),
    ...(grants.includes('privileged')
      ? []
      : checkSecurityContext(container.securityContext, `${at}.securityContext`)),
    ...(container.env ?? []).flatMap((entry, index) =>
      checkEnv(entry, `${at}.env.${index}`, grants),
    ),
    ...(container.envFrom ?? []).flatMap((source, index) =>
      checkEnvFrom(source, `${at}.envFrom.${index}`, grants),
    ),
  ];
}

const PLAIN_SOURCES = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef'];

function checkEnv(
  { value, valueFrom }: NonNullable<Container['env']>[number],
  at: string,
  grants: Grants,
): string[] {
  if (valueFrom === null || valueFrom === undefined) return [];
  const filled = value !== null && value !== undefined && value !== '';
  const allowed = grants.includes('secrets') ? [...PLAIN_SOURCES, 'secretKeyRef'] : PLAIN_SOURCES;
  return [
    ...(filled ? [`${at}.valueFrom: not usable while value is not empty`] : []),
    ...Object.keys(valueFrom)
      .filter((source) => !allowed.includes(source))
      .map(
        (source) =>
          `${at}.valueFrom.${source}: not allowed here (an administrator may grant "secrets")`,
      ),
  ];
}

function checkEnvFrom(source: Json, at: string, grants: Grants): string[] {
  const allowed = ['prefix', 'configMapRef', ...(grants.includes('secrets') ? ['secretRef'] : [])];
  return Object.keys(source)
    .filter((key) => !allowed.includes(key))
    .map((key) => `${at}.${key}: not allowed here (an administrator may grant "secrets")`);
}

/** Keys by which the platform finds its objects, or by which a pod would weaken its own confinement. */
const OWN_KEYS = [
  `${GROUP}/`,
  MANAGED_BY,
  PART_OF,
  'container.apparmor.security.beta.kubernetes.io/',
  'seccomp.security.alpha.kubernetes.io/',
];

function checkKeys(
  words: Record<string, string> | null | undefined,
  field: 'labels' | 'annotations',
  keys: ObjectKeys,
): string[] {
  return Object.keys(words ?? {}).flatMap((key) => {
    if (!isKey(key)) return [`${AT}.${field}: ${key} is not a valid Kubernetes key`];
    if (OWN_KEYS.some((own) => key.startsWith(own)))
      return [`${AT}.${field}: ${key} is set by the platform`];
    return isAllowedKey(key, keys)
      ? []
      : [`${AT}.${field}: ${key} is not allowed here (an administrator may allow its prefix)`];
  });
}

const checkLabelValues = (labels: Record<string, string> | null | undefined): string[] =>
  Object.entries(labels ?? {})
    .filter(([, value]) => !isLabelValue(value))
    .map(([key]) => `${AT}.labels: the value of ${key} is not a valid label value`);

const checkDisguise = (labels: Record<string, string> | null | undefined): string[] =>
  Object.entries(labels ?? {}).flatMap(([key, value]) =>
    isDisguise(key, value) ? [`${AT}.labels: ${key} can't be ${value}`] : [],
  );

/*
 * Kubernetes' "restricted" pod security profile, for the securityContext of one container. A key that is not listed is
 * refused.
 */

type Allowed = (value: unknown) => boolean;

const buildOneOf =
  (...values: unknown[]): Allowed =>
  (value) =>
    values.includes(value);

const toList = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value];

/** A list that the operator's own `drop: [ALL]` would give way to must have ALL itself. */
const hasSafeCapabilities: Allowed = (value) =>
  isObject(value) &&
  ((value.drop ?? null) === null || toList(value.drop).includes('ALL')) &&
  Object.keys(value).every((key) => key === 'drop' || key === 'add') &&
  toList(value.add).every((word) => word === 'NET_BIND_SERVICE');

const isSafeProfile: Allowed = (value) =>
  isObject(value) && (value.type === 'RuntimeDefault' || value.type === 'Localhost');

const ALLOWED: Readonly<Record<string, Allowed>> = {
  allowPrivilegeEscalation: buildOneOf(false),
  privileged: buildOneOf(false),
  runAsNonRoot: buildOneOf(true),
  runAsUser: (value) => typeof value === 'number' && value > 0,
  runAsGroup: (value) => typeof value === 'number' && value >= 0,
  readOnlyRootFilesystem: buildOneOf(true, false),
  procMount: buildOneOf('Default'),
  capabilities: hasSafeCapabilities,
  seccompProfile: isSafeProfile,
  appArmorProfile: isSafeProfile,
};

/** Returns the keys and values of a securityContext that would loosen the pod's confinement. */
function checkSecurityContext(
  context: Record<string, unknown> | null | undefined,
  at: string,
): string[] {
  return Object.entries(context ?? {})
    .filter(
      ([key, value]) => value !== null && !(Object.hasOwn(ALLOWED, key) && ALLOWED[key]?.(value)),
    )
    .map(([key]) => `${at}.${key}: not allowed here (an administrator may grant "privileged")`);
}
